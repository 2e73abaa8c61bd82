// The options that bound what sources may reach and hold, for every command that fetches them.
import { readFile } from 'node:fs/promises';
import type { Command, Option } from 'commander';
import type { GuardOptions } from '../upstream/guard/client.ts';
import type { Limits } from '../upstream/limits.ts';
import { bytes, count, list, option } from './options.ts';

/** What of other people's servers may be reached. */
export interface ReachFlags {
  denyCidr?: string[];
  allowLoopback?: boolean;
  extraCaFile?: string;
}

export interface SourceFlags extends ReachFlags {
  maxFiles: number;
  maxFileSize: number;
  maxTotalSize: number;
}

export const denyCidr = (): Option =>
  option('--deny-cidr <ranges>', 'address ranges that no source may reach, comma-separated').argParser(list);
export const allowLoopback = (): Option =>
  option('--allow-loopback', 'let sources reach 127.0.0.0/8 and ::1; for tests');
export const extraCaFile = (): Option =>
  option('--extra-ca-file <file>', 'PEM certificates of authorities that sources may be signed by, too');

export function addSourceOptions(command: Command): Command {
  return command
    .addOption(denyCidr())
    .addOption(extraCaFile())
    .addOption(option('--max-files <number>', 'ceiling on spec.limits.files').argParser(count).default(50_000))
    .addOption(
      option('--max-file-size <size>', 'ceiling on spec.limits.fileSize')
        .argParser(bytes)
        .default(2 ** 26, '64Mi'),
    )
    .addOption(
      option('--max-total-size <size>', 'ceiling on spec.limits.totalSize')
        .argParser(bytes)
        .default(2 ** 30, '1Gi'),
    );
}

export interface SourceOptions {
  guard: GuardOptions;
  ceiling: Limits;
}

/**
 * @param apiServer the API server's addresses and port, which no source may reach
 * @param environment where HTTPS_PROXY, HTTP_PROXY and NO_PROXY are looked up, in either case
 * @throws Error when the file of authorities cannot be used
 */
export async function sourceOptions(
  flags: SourceFlags,
  apiServer: GuardOptions['apiServer'],
  environment: NodeJS.ProcessEnv = process.env,
): Promise<SourceOptions> {
  return {
    guard: await guardOptions(flags, apiServer, environment),
    ceiling: { files: flags.maxFiles, fileSize: flags.maxFileSize, totalSize: flags.maxTotalSize },
  };
}

/** The same of what may be reached alone. @throws Error when the file of authorities cannot be used */
export async function guardOptions(
  flags: ReachFlags,
  apiServer: GuardOptions['apiServer'],
  environment: NodeJS.ProcessEnv = process.env,
): Promise<GuardOptions> {
  const variable = (name: string): string | undefined =>
    environment[name] || environment[name.toLowerCase()] || undefined;
  const proxy = {
    httpsProxy: variable('HTTPS_PROXY'),
    httpProxy: variable('HTTP_PROXY'),
    noProxy: variable('NO_PROXY'),
  };
  return {
    allowLoopback: flags.allowLoopback ?? false,
    deniedCidrs: flags.denyCidr ?? [],
    apiServer,
    ...(proxy.httpsProxy || proxy.httpProxy ? { proxy } : {}),
    ...(flags.extraCaFile === undefined ? {} : { extraCa: await certificatesIn(flags.extraCaFile) }),
  };
}

/** What cannot be used is told at the start, not with each source. */
async function certificatesIn(file: string): Promise<Buffer> {
  const content = await readFile(file).catch((cause: NodeJS.ErrnoException) => {
    throw new Error(`--extra-ca-file: ${file} cannot be read (${cause.code})`, { cause });
  });
  if (!content.includes('-----BEGIN CERTIFICATE-----')) {
    throw new Error(`--extra-ca-file: ${file} holds no certificate in PEM form (-----BEGIN CERTIFICATE-----)`);
  }
  return content;
}
