// Another publisher's discovery index as a source: its skills as a tree, fetched where what the index says of them has moved.

import { indexAddress } from '../../upstream/discovery/address.ts';
import { indexCredentials } from '../../upstream/discovery/credentials.ts';
import type { GuardedClient } from '../../upstream/guard/client.ts';
import { SourceFault } from '../reasons.ts';
import type { LookContext } from './backend.ts';
import { DiscoveryLook } from './discovery/look.ts';
import type { Source } from './source.ts';

/**
 * @param url `spec.url`, an index at `/.well-known/agent-skills/` or, as it was called before, `/.well-known/skills/`
 * @param guard the installation's client; it stays open
 * @throws SourceFault InvalidSpec for the URL, SecretNotFound for keys that are missing; UpstreamFault TLSFailed for `ca.crt`
 */
export function openDiscoverySource(url: string, context: LookContext, guard: GuardedClient): Source {
  const address = indexAddress(url);
  if (!address.ok) throw new SourceFault('InvalidSpec', address.message);
  const credentials = indexCredentials(context.secret);
  if (!credentials.ok) {
    throw new SourceFault('SecretNotFound', `the Secret of spec.secretRef lacks ${credentials.missing}`);
  }
  const own = credentials.ca === undefined ? undefined : guard.withCa(credentials.ca);
  const { authorization } = credentials;
  const look = new DiscoveryLook(
    {
      url: address.url,
      client: own ?? guard,
      credential: authorization === undefined ? undefined : { header: authorization, origin: address.url.origin },
    },
    context,
  );
  return { probe: () => look.probe(), open: () => look.open(), close: async () => own?.close() };
}
