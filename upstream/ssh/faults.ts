// What went wrong with an SSH server, as a reason and words: its name, never what it sent.
import { UpstreamFault } from '../fault.ts';
import { requestFault } from '../guard/faults.ts';
import { type HostKeys, hostKeyTypes } from './known-hosts.ts';

/** `known_hosts` has no key of this host that could be checked. */
export function unknownHost(name: string, { certified }: HostKeys): UpstreamFault {
  const why = certified
    ? 'only a certificate authority for this host, which Lyceum does not check'
    : `no key of this host (${hostKeyTypes.join(', ')})`;
  return new UpstreamFault(
    'TLSFailed',
    `${name} is not known: the Secret's key known_hosts has ${why}; add the line that ssh-keyscan prints for it, once you have compared its fingerprint`,
  );
}

/** The host showed a key that is not the known one, or that was taken back. */
export const wrongHostKey = (name: string, verdict: 'revoked' | 'other'): UpstreamFault =>
  new UpstreamFault(
    'TLSFailed',
    verdict === 'revoked'
      ? `${name} shows a host key that known_hosts marks @revoked; ask whoever runs it for its present key`
      : `${name} shows another host key than the Secret's key known_hosts has; when the server was given a new key, compare its fingerprint and mend known_hosts`,
  );

export const shellRefused = (name: string): UpstreamFault =>
  new UpstreamFault(
    'AccessDenied',
    `${name} does not let the key of spec.secretRef run git-upload-pack; check what that key may do there`,
  );

export const silentServer = (name: string): UpstreamFault =>
  new UpstreamFault('TimedOut', `${name} did not answer in time`);

export const lostConnection = (name: string): UpstreamFault =>
  new UpstreamFault('Unreachable', `${name} closed the SSH connection; check host and port in spec.url`);

/** The fault of a connection that broke, by what ssh2 says of it: its level, and its own words for a failed handshake. */
export function connectionFault(name: string, error: Error): UpstreamFault {
  const { level, code } = error as { level?: unknown; code?: unknown };
  switch (level) {
    case 'client-timeout':
      return silentServer(name);
    case 'client-authentication':
      return new UpstreamFault(
        'AuthenticationFailed',
        `${name} does not take the key of spec.secretRef for this user; add its public key there, or check the user in spec.url and the Secret's key identity`,
      );
    case 'client-socket':
      return typeof code === 'string' ? requestFault(name, error) : lostConnection(name);
    case 'handshake':
      if (/no matching host key/.test(error.message)) {
        return new UpstreamFault(
          'TLSFailed',
          `${name} has no host key of a type that the Secret's key known_hosts has for it; add the lines that ssh-keyscan prints for it, once you have compared their fingerprints`,
        );
      }
      return new UpstreamFault(
        'TLSFailed',
        `no SSH connection to ${name}: it offers no key exchange, cipher or MAC that Lyceum takes; bring that server up to date`,
      );
    default:
      if (/^Connection lost/.test(error.message)) return lostConnection(name);
      return new UpstreamFault('UpstreamInvalid', `${name} answers in a way that is no SSH`);
  }
}
