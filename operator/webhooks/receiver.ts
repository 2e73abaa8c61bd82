// What becomes of a webhook: where it proves that its sender knows the source's token, it asks for a look. Its body is never read.
import type { Logger } from 'pino';
import type { Clock } from '../clock.ts';
import { type Cluster, type KubernetesObject, keyOf, type ObjectKey } from '../kubernetes/cluster.ts';
import { SourceFault } from '../reasons.ts';
import { parseSkillSource } from '../resources/parse.ts';
import type { SkillSourceSpec, WebhookProvider } from '../resources/skill-source.ts';
import { Hints } from './hints.ts';
import { type Proof, proofOf, type SentHeaders } from './proof.ts';
import { WebhookTokens } from './tokens.ts';

/** `now` and `soon`: it asks for a look. `failed`: the token could not be had. `refused`: anything else that is wrong. */
export const webhookResults = ['now', 'soon', 'suspended', 'refused', 'failed'] as const;
export type WebhookResult = (typeof webhookResults)[number];

export interface WebhookMetrics {
  /** @param provider as the source names it; `none` where there is no such source or it takes no webhooks */
  received(provider: WebhookProvider | 'none', result: WebhookResult): void;
}

/** A webhook whose body is still to come. */
export interface Delivery {
  update: Proof['update'];
  /** The body is there whole, or it is given up. */
  end(whole: boolean): WebhookResult;
}

export interface ReceiverOptions {
  cluster: Pick<Cluster, 'sources' | 'readSecret' | 'recordEvent'>;
  look(source: ObjectKey): void;
  metrics: WebhookMetrics;
  clock: Clock;
  log: Logger;
}

export class Receiver {
  readonly #options: ReceiverOptions;
  readonly #tokens: WebhookTokens;
  readonly #hints: Hints;
  /** What was last wrong with the token of a source, which is told once. */
  readonly #complaints = new Map<ObjectKey, string>();

  constructor(options: ReceiverOptions) {
    this.#options = options;
    this.#tokens = new WebhookTokens(options.cluster, options.clock);
    this.#hints = new Hints(options.look, options.clock);
  }

  /** @throws KubernetesError when the API server does not tell the token */
  async receive(key: ObjectKey, headers: SentHeaders): Promise<Delivery> {
    const { metrics, log, cluster } = this.#options;
    const source = cluster.sources.get(key);
    const parsed = source && parseSkillSource(source);
    if (source === undefined || !parsed?.ok || parsed.spec.webhook === undefined)
      return this.#refusal('none', 'refused');
    const { webhook, suspend } = parsed.spec;
    const { provider } = webhook;
    let token: Buffer | undefined;
    try {
      token = await this.#token(source, webhook);
    } catch (error) {
      metrics.received(provider, 'failed');
      throw error;
    }
    if (token === undefined) return this.#refusal(provider, 'failed');
    const proof = proofOf(provider, token, headers);
    return {
      update: proof.update,
      end: (whole) => {
        const result = !whole || !proof.holds() ? 'refused' : suspend ? 'suspended' : this.#hints.hint(key);
        metrics.received(provider, result);
        log.debug({ source: key, provider, result }, 'webhook');
        return result;
      },
    };
  }

  #refusal(provider: WebhookProvider | 'none', result: 'refused' | 'failed'): Delivery {
    return {
      update: () => {},
      end: () => {
        this.#options.metrics.received(provider, result);
        return 'refused';
      },
    };
  }

  /** Undefined where the Secret has none: its source is told of it. */
  async #token(
    source: KubernetesObject,
    webhook: NonNullable<SkillSourceSpec['webhook']>,
  ): Promise<Buffer | undefined> {
    const key = keyOf(source);
    try {
      const token = await this.#tokens.of(source.metadata.namespace, webhook.secretRef.name);
      this.#complaints.delete(key);
      return token;
    } catch (error) {
      if (!(error instanceof SourceFault)) throw error;
      const { reason, message } = error;
      if (this.#complaints.get(key) !== message) {
        this.#complaints.set(key, message);
        this.#options.log.warn({ source: key, reason, message }, 'webhooks cannot be checked');
        this.#options.cluster.recordEvent(source, { type: 'Warning', reason, action: 'CheckWebhook', note: message });
      }
      return undefined;
    }
  }
}
