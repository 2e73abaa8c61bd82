// Records Kubernetes events one after another, away from the reconcilers: what cannot be recorded is logged and dropped.
import { type EventsV1Api, V1MicroTime } from '@kubernetes/client-node';
import type { Logger } from 'pino';
import type { Clock } from '../clock.ts';
import type { EventRecord, KubernetesObject } from './cluster.ts';

export interface EventRecorderOptions {
  api: EventsV1Api;
  /** Which operator says it: the pod's name. At most 128 characters. */
  instance: string;
  clock: Clock;
  log: Logger;
}

type KubernetesEvent = Parameters<EventsV1Api['createNamespacedEvent']>[0]['body'];

const reportingController = 'lyceum.dev/operator';
const mostWaiting = 256;
/** Bytes of UTF-8 that events.k8s.io/v1 accepts. */
const mostNoteBytes = 1024;
const longestEventName = 253;

export class EventRecorder {
  readonly #options: EventRecorderOptions;
  readonly #waiting: { namespace: string; body: KubernetesEvent }[] = [];
  #sending: Promise<void> | undefined;
  #dropped = 0;
  #serial = 0;

  constructor(options: EventRecorderOptions) {
    this.#options = options;
  }

  record(object: KubernetesObject, event: EventRecord): void {
    if (this.#waiting.length >= mostWaiting) {
      this.#dropped++;
      return;
    }
    const body = eventBody(object, event, this.#options.instance, this.#options.clock.now(), this.#serial++);
    this.#waiting.push({ namespace: object.metadata.namespace, body });
    this.#sending ??= this.#send();
  }

  /** Resolves when every event has been sent or given up. */
  async drained(): Promise<void> {
    await this.#sending;
  }

  async #send(): Promise<void> {
    const { api, log } = this.#options;
    for (let next = this.#waiting.shift(); next !== undefined; next = this.#waiting.shift()) {
      const about = { namespace: next.namespace, object: next.body.regarding?.name, reason: next.body.reason };
      try {
        await api.createNamespacedEvent(next);
      } catch (error) {
        log.warn({ ...about, error: error instanceof Error ? error.message : 'unknown' }, 'an event was not recorded');
      }
    }
    if (this.#dropped > 0) log.warn({ dropped: this.#dropped }, 'events were dropped: too many were waiting');
    this.#dropped = 0;
    this.#sending = undefined;
  }
}

/**
 * An events.k8s.io/v1 Event.
 * @param now milliseconds since the epoch
 * @param serial tells apart events of one moment
 */
export function eventBody(
  object: KubernetesObject,
  event: EventRecord,
  instance: string,
  now: number,
  serial: number,
): KubernetesEvent {
  const { namespace, name, uid } = object.metadata;
  const moment = (BigInt(Math.floor(now)) * 1_000_000n + BigInt(serial % 1_000_000)).toString(16);
  const stem = name.slice(0, longestEventName - moment.length - 1).replace(/[.-]+$/, '');
  return {
    metadata: { name: `${stem}.${moment}`, namespace },
    eventTime: new V1MicroTime(now),
    reportingController,
    reportingInstance: instance.slice(0, 128),
    action: event.action,
    reason: event.reason,
    regarding: { apiVersion: object.apiVersion, kind: object.kind, namespace, name, uid },
    type: event.type,
    note: cutToBytes(event.note, mostNoteBytes),
  };
}

/** The longest beginning of a text that fits, no character cut in two. */
function cutToBytes(text: string, most: number): string {
  const bytes = Buffer.from(text);
  if (bytes.length <= most) return text;
  let end = most - Buffer.byteLength('…');
  while ((bytes[end]! & 0xc0) === 0x80) end--;
  return `${bytes.subarray(0, end).toString()}…`;
}
