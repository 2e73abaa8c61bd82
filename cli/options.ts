// Options that several commands share, each with its environment variable, default and the words of --help.
import { InvalidArgumentError, Option } from 'commander';
import { parseQuantity } from '../operator/resources/quantities.ts';
import { anyAddress } from './any-address.ts';

/** An option `--some-name` whose environment variable is `LYCEUM_SOME_NAME`. */
export function option(flags: string, description: string): Option {
  const name = /--(?:no-)?([a-z-]+)/.exec(flags)?.[1] ?? '';
  return new Option(flags, description).env(`LYCEUM_${name.toUpperCase().replaceAll('-', '_')}`);
}

/** `--host`: the address that a server listens on. */
export const host = (): Option =>
  option('--host <address>', 'address to listen on; any: all of this machine, of IPv4 and IPv6').argParser((text) =>
    text === 'any' ? anyAddress() : text,
  );

export function port(text: string): number {
  const number = Number(text);
  if (!Number.isInteger(number) || number < 0 || number > 65535) throw new InvalidArgumentError('a port is 0 to 65535');
  return number;
}

export function count(text: string): number {
  const number = Number(text);
  if (!Number.isInteger(number) || number < 1) throw new InvalidArgumentError('a whole number above 0');
  return number;
}

/** Bytes from a Kubernetes quantity such as `256Mi`. */
export function bytes(text: string): number {
  try {
    return parseQuantity(text);
  } catch {
    throw new InvalidArgumentError('a size such as 512Ki, 256Mi or 2Gi');
  }
}

/** A comma-separated list; given several times, the lists are joined. The environment variable takes commas too. */
export function list(text: string, before: string[] | undefined): string[] {
  const items = text
    .split(',')
    .map((item) => item.trim())
    .filter((item) => item !== '');
  return [...(before ?? []), ...items];
}

export const logLevel = (): Option =>
  option('--log-level <level>', 'how much is logged, as JSON lines on standard error')
    .choices(['fatal', 'error', 'warn', 'info', 'debug', 'trace'])
    .default('info');
