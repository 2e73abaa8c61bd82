// From a Secret of tokens to what index.json tells of them: digests by client. Messages name keys, never a value. Pure.

import { digestOf } from '../../catalogue/digest.ts';
import type { AuthSetting } from '../../catalogue/index-file.ts';
import { byCodePoint } from '../../catalogue/names.ts';

export interface ClientTokens {
  tokens: AuthSetting['tokens'];
  /** What must be mended in the Secret. The clients that it is about cannot get in; the others can. */
  complaint?: string;
}

/** Each presented token is compared with every one of them. */
export const mostClients = 1000;
const usable = /^[\x21-\x7e]{16,1024}$/;

/** @param secret the values by client, as the Secret has them */
export function clientTokens(secret: ReadonlyMap<string, Buffer>): ClientTokens {
  if (secret.size === 0) {
    return { tokens: [], complaint: 'it is empty: give it a key for each client, with the bearer token as its value' };
  }
  const clients = [...secret].sort(([a], [b]) => byCodePoint(a, b));
  const unusable: string[] = [];
  const holders = new Map<string, string[]>();
  for (const [client, value] of clients.slice(0, mostClients)) {
    if (!usable.test(value.toString('latin1'))) {
      unusable.push(client);
      continue;
    }
    const digest = digestOf(value);
    holders.set(digest, [...(holders.get(digest) ?? []), client]);
  }
  const tokens = [...holders].flatMap(([digest, [client, ...others]]) =>
    others.length === 0 ? [{ client: client!, digest }] : [],
  );
  const alike = [...holders.values()].filter((sharing) => sharing.length > 1);
  const complaints = [
    ...(unusable.length === 0
      ? []
      : [
          `the value of ${named(unusable)} is no token: write 16 to 1,024 visible ASCII characters, without blanks and without a line break at the end`,
        ]),
    ...alike.slice(0, shown).map((sharing) => `${named(sharing)} have the same token: give each client its own`),
    ...(clients.length > mostClients ? [`it has more than ${mostClients} keys, and those behind are not read`] : []),
  ];
  return complaints.length === 0 ? { tokens } : { tokens, complaint: complaints.join('; ') };
}

const shown = 5;

/** The first names of a list, and how many more there are. */
export const named = (names: readonly string[]): string =>
  names.slice(0, shown).join(', ') + (names.length > shown ? ` and ${names.length - shown} more` : '');
