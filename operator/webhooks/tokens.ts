// The tokens of webhooks, out of the Secrets that sources name: asked for when one is needed, and kept for some seconds.

import { secretText } from '../../upstream/secret-text.ts';
import type { Clock } from '../clock.ts';
import type { Cluster } from '../kubernetes/cluster.ts';
import { SourceFault } from '../reasons.ts';
import { namedSecret } from '../reconcile/named-secret.ts';

/** A changed Secret counts within 30 s; nobody can make the operator ask for one more often. */
const freshMilliseconds = 10_000;
const [shortest, longest] = [16, 1024];

interface Kept {
  token: Promise<Buffer>;
  until: number;
}

export class WebhookTokens {
  readonly #cluster: Pick<Cluster, 'readSecret'>;
  readonly #clock: Clock;
  readonly #kept = new Map<string, Kept>();

  constructor(cluster: Pick<Cluster, 'readSecret'>, clock: Clock) {
    this.#cluster = cluster;
    this.#clock = clock;
  }

  /** @throws SourceFault SecretNotFound; KubernetesError when the API server is away */
  of(namespace: string, secret: string): Promise<Buffer> {
    const now = this.#clock.now();
    for (const [key, { until }] of this.#kept) if (until <= now) this.#kept.delete(key);
    const key = `${namespace}/${secret}`;
    const kept = this.#kept.get(key);
    if (kept !== undefined) return kept.token;
    const token = this.#read(namespace, secret);
    this.#kept.set(key, { token, until: now + freshMilliseconds });
    token.catch((error: unknown) => {
      if (!(error instanceof SourceFault)) this.#kept.delete(key);
    });
    return token;
  }

  async #read(namespace: string, name: string): Promise<Buffer> {
    const secret = await namedSecret(this.#cluster, namespace, name, 'spec.webhook.secretRef');
    const token = Buffer.from(secretText(secret.data, 'token'));
    if (token.length >= shortest && token.length <= longest) return token;
    throw new SourceFault(
      'SecretNotFound',
      `Secret "${name}" in namespace "${namespace}" has no token for the webhook: write ${shortest} to ` +
        `${longest.toLocaleString('en')} characters under the key token, the same that the provider is given`,
    );
  }
}
