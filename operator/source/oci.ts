// OCI artifacts as a source: what layers of a registry hold, as a tree, fetched where a layer is not known.
import type { GuardedClient } from '../../upstream/guard/client.ts';
import { ociAddress } from '../../upstream/oci/address.ts';
import { registryCredentials } from '../../upstream/oci/credentials.ts';
import { Registry } from '../../upstream/oci/registry.ts';
import { SourceFault } from '../reasons.ts';
import type { LookContext } from './backend.ts';
import { OciLook } from './oci/look.ts';
import type { Source } from './source.ts';

/**
 * @param url `spec.url`, with a tag, a digest, both or neither
 * @param guard the installation's client; it stays open
 * @throws SourceFault InvalidSpec for the URL, SecretNotFound for keys that are missing; UpstreamFault TLSFailed for `ca.crt`
 */
export function openOciSource(url: string, context: LookContext, guard: GuardedClient): Source {
  const address = ociAddress(url);
  if (!address.ok) throw new SourceFault('InvalidSpec', address.message);
  const credentials = registryCredentials(context.secret, address);
  if (!credentials.ok) {
    throw new SourceFault('SecretNotFound', `the Secret of spec.secretRef lacks ${credentials.missing}`);
  }
  const own = credentials.ca === undefined ? undefined : guard.withCa(credentials.ca);
  const { basic } = credentials;
  const { signal, received } = context;
  const look = new OciLook(new Registry({ address, client: own ?? guard, basic, signal, received }), context);
  return { probe: () => look.probe(), open: () => look.open(), close: async () => own?.close() };
}
