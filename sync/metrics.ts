// The metrics of a copy, in a registry of their own.
import { Counter, collectDefaultMetrics, Gauge, Registry } from 'prom-client';
import { type SyncFaultReason, syncFaultReasons } from './fault.ts';

export interface SyncMetrics {
  registry: Registry;
  /** The operator was asked, and the folder has what is published. @param at milliseconds since 1970 */
  succeeded(at: number): void;
  failed(reason: SyncFaultReason): void;
  copied(generation: number): void;
  received(bytes: number): void;
  holds(bytes: number): void;
}

export function createSyncMetrics(): SyncMetrics {
  const registry = new Registry();
  const registers = [registry];
  collectDefaultMetrics({ register: registry });
  const generation = new Gauge({
    name: 'lyceum_sync_generation',
    help: 'Generation of the catalogue in the folder.',
    registers,
  });
  const success = new Gauge({
    name: 'lyceum_sync_last_success_timestamp_seconds',
    help: 'When the operator last said that the folder has what is published.',
    registers,
  });
  const failures = new Counter({
    name: 'lyceum_sync_failures_total',
    help: 'Copies that failed, by reason; each is tried again.',
    labelNames: ['reason'],
    registers,
  });
  for (const reason of syncFaultReasons) failures.inc({ reason }, 0);
  const received = new Counter({
    name: 'lyceum_sync_received_bytes_total',
    help: 'Bytes of catalogues and segments that the operator sent.',
    registers,
  });
  const folder = new Gauge({ name: 'lyceum_sync_folder_bytes', help: 'Bytes of files in the folder.', registers });
  return {
    registry,
    succeeded: (at) => success.set(at / 1000),
    failed: (reason) => failures.inc({ reason }),
    copied: (number) => generation.set(number),
    received: (bytes) => received.inc(bytes),
    holds: (bytes) => folder.set(bytes),
  };
}
