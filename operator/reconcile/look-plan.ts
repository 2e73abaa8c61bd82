// Whether a source is looked at now, and how hard. Pure.
import type { SourceFaultReason } from '../reasons.ts';

/** What is remembered of a source between reconciles, times in milliseconds of one clock. */
export interface LookMemory {
  /** Looked at since this process started. */
  looked: boolean;
  /** When the next planned look is due: after a refresh or a pause; absent when none is planned. */
  dueAt?: number;
  /** Something the source depends on has changed: its ConfigMap, its Secret. */
  triggered: boolean;
  fault?: { reason: SourceFaultReason; message: string };
}

export interface LookQuestion {
  memory: LookMemory;
  /** Digest of the spec that the published catalogue was made with; absent when nothing is published. */
  publishedSpec: string | undefined;
  spec: string;
  /** metadata.generation now, and what it was at the last look, good or bad; undefined where that is not known. */
  generation: number;
  lookedGeneration: number | undefined;
  /** Value of the annotation `lyceum.dev/requestedAt`, and the value that was handled last. */
  request: string | undefined;
  handledRequest: string | undefined;
  /** Somebody waits for a look. */
  asked: boolean;
  now: number;
}

/**
 * `fetch`: list and harvest whatever the probe says. `probe`: only if upstream's revision moved. `none`: not yet.
 * `inSeconds` says when the next planned look is due.
 */
export type LookPlan = { look: 'fetch' | 'probe' } | { look: 'none'; inSeconds?: number };

export function planLook(question: LookQuestion): LookPlan {
  const { memory, publishedSpec, spec, generation, lookedGeneration, request, handledRequest, asked, now } = question;
  const requested = asked || (request !== undefined && request !== handledRequest);
  if (requested) return { look: 'fetch' };
  const unfinished = publishedSpec !== spec;
  const due =
    !memory.looked ||
    memory.triggered ||
    (lookedGeneration !== undefined && lookedGeneration !== generation) ||
    (memory.dueAt !== undefined && memory.dueAt <= now);
  if (due) return { look: unfinished ? 'fetch' : 'probe' };
  return { look: 'none', ...(memory.dueAt === undefined ? {} : { inSeconds: (memory.dueAt - now) / 1000 }) };
}
