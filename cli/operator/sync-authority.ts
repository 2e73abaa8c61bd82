// The certificates that pods in other namespaces know the operator by: they cannot mount the Secret that has them.
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Logger } from 'pino';
import { type Clock, sleep } from '../../operator/clock.ts';
import type { CallersFlags } from './callers-options.ts';
import type { PodFlags } from './pod-options.ts';

/** Kubernetes lets all annotations of a pod together have 256 KiB. */
const longest = 64 * 1024;
/** How soon another one is given to the pods, in milliseconds. */
const lookEveryMilliseconds = 10_000;

export interface SyncAuthority {
  /** In PEM; another one when the file has changed. */
  authority: string;
}

/**
 * The `ca.crt` of the port for callers, with --sync; undefined without.
 * @throws Error with what is missing
 */
export async function syncAuthority({
  sync,
  volumeClaim,
  callersUrl,
  tlsFolder,
}: PodFlags & Pick<CallersFlags, 'tlsFolder'>): Promise<SyncAuthority | undefined> {
  if (!sync || !volumeClaim) return undefined;
  if (!callersUrl || !tlsFolder) {
    throw new Error('--sync needs --callers-url and --tls-folder: the catalogue is copied from there');
  }
  return { authority: await read(tlsFolder) };
}

/** Until the signal aborts. One that cannot be used is told in the log, once. */
export async function followAuthority(
  known: SyncAuthority,
  tlsFolder: string,
  { clock, log, signal, changed }: { clock: Clock; log: Logger; signal: AbortSignal; changed(): void },
): Promise<void> {
  let fault: string | undefined;
  for (;;) {
    await sleep(clock, lookEveryMilliseconds, signal);
    if (signal.aborted) return;
    try {
      const now = await read(tlsFolder);
      fault = undefined;
      if (now === known.authority) continue;
      known.authority = now;
      changed();
    } catch (error) {
      const why = error instanceof Error ? error.message : 'unknown';
      if (why !== fault) log.warn({ why }, 'the authority of the port for callers cannot be read anew');
      fault = why;
    }
  }
}

async function read(tlsFolder: string): Promise<string> {
  const file = join(tlsFolder, 'ca.crt');
  const text = await readFile(file, 'utf8').catch((error: NodeJS.ErrnoException) => {
    throw new Error(`${file} cannot be read (${error.code}): --sync needs the certificates that tls.crt is known by`);
  });
  if (!/^-----BEGIN CERTIFICATE-----$/m.test(text) || text.includes('PRIVATE KEY') || text.length > longest) {
    throw new Error(`${file} must hold certificates in PEM and nothing else, at most ${longest} bytes of them`);
  }
  return text;
}
