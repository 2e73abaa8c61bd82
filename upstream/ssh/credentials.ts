// From the keys of a Secret to what an SSH server is shown, and what its own key is compared with.
import type { ParsedKey } from 'ssh2';
import { secretText } from '../secret-text.ts';
import { type KnownHost, parseKnownHosts } from './known-hosts.ts';

export interface SshCredentials {
  identity: ParsedKey;
  knownHosts: KnownHost[];
}

/**
 * `identity`, a private key without a passphrase, and `known_hosts`.
 * @param secret the Secret's keys and values; none at all where no Secret is named
 * @returns `missing`: the keys that have to be added or mended
 */
export async function sshCredentialsFrom(
  secret: ReadonlyMap<string, Buffer>,
): Promise<({ ok: true } & SshCredentials) | { ok: false; missing: string }> {
  const pem = secretText(secret, 'identity');
  if (pem === '') return { ok: false, missing: 'identity, a private key of SSH' };
  const { utils } = (await import('ssh2')).default;
  const parsed: ParsedKey | Error | ParsedKey[] = utils.parseKey(pem);
  const identity = Array.isArray(parsed) ? parsed[0] : parsed;
  if (identity === undefined || identity instanceof Error || !identity.isPrivateKey()) {
    return { ok: false, missing: 'identity (a private key as ssh-keygen writes it, without a passphrase)' };
  }
  const knownHosts = parseKnownHosts(secretText(secret, 'known_hosts'));
  if (knownHosts.length === 0) {
    return { ok: false, missing: 'known_hosts (lines as ssh-keyscan prints them, once they are checked)' };
  }
  return { ok: true, identity, knownHosts };
}
