// Certificate authorities beside the system's own: parsed once, since a list of the usual size takes milliseconds.
import { createHash, X509Certificate } from 'node:crypto';
import { createSecureContext, getCACertificates, type SecureContext } from 'node:tls';
import { UpstreamFault } from '../fault.ts';

const keptContexts = 32;
const contexts = new Map<string, SecureContext>();

/**
 * A TLS context that trusts the authorities in these PEM files as well as the usual ones; undefined without any.
 * @throws UpstreamFault TLSFailed when a file holds no certificate
 */
export function trusting(pems: readonly Buffer[]): SecureContext | undefined {
  if (pems.length === 0) return undefined;
  const hash = createHash('sha256');
  for (const pem of pems) hash.update(`${pem.length}\n`).update(pem);
  const key = hash.digest('hex');
  const known = contexts.get(key);
  if (known !== undefined) return known;
  const context = createSecureContext({ ca: [...getCACertificates('default'), ...pems.flatMap(certificates)] });
  const [oldest] = contexts.keys();
  if (contexts.size >= keptContexts && oldest !== undefined) contexts.delete(oldest);
  contexts.set(key, context);
  return context;
}

function certificates(pem: Buffer): string[] {
  const blocks = pem.toString('latin1').match(/-----BEGIN CERTIFICATE-----[\s\S]*?-----END CERTIFICATE-----/g) ?? [];
  try {
    if (blocks.length === 0) throw new Error('no certificate');
    return blocks.map((block) => new X509Certificate(block).toString());
  } catch (cause) {
    throw new UpstreamFault('TLSFailed', 'ca.crt holds no certificate that can be read; put a PEM certificate there', {
      cause,
    });
  }
}
