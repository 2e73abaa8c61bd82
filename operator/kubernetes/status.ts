// Which statuses are worth a write. Pure, but for remembering the writes that the watch has not confirmed yet.
import { isDeepStrictEqual } from 'node:util';
import type { KubernetesObject, ObjectKey } from './cluster.ts';

type Plain = Record<string, unknown>;

/**
 * A status as it is applied: what has no value is left out, since server-side apply takes a missing field for "no longer
 * mine" and a null for a value.
 */
export function appliedStatus(status: Plain): Plain {
  return JSON.parse(JSON.stringify(status, (_, value) => (value === null ? undefined : value))) as Plain;
}

/**
 * The operator's own writes that the store does not show yet. A status is skipped only when the store and the last
 * unconfirmed write both say the same: the store alone may still show the state before that write.
 */
export class UnconfirmedWrites {
  readonly #writes = new Map<ObjectKey, { uid: string; status: Plain; resourceVersion: string | undefined }>();

  /** @param shown the object as the store has it */
  isNeeded(key: ObjectKey, shown: KubernetesObject, wanted: Plain): boolean {
    const write = this.#writes.get(key);
    if (!isDeepStrictEqual(shown.status ?? {}, wanted)) return true;
    return write !== undefined && write.uid === shown.metadata.uid && !isDeepStrictEqual(write.status, wanted);
  }

  /** @param resourceVersion what the object has after the write; absent when the answer was lost */
  wrote(key: ObjectKey, uid: string, status: Plain, resourceVersion: string | undefined): void {
    this.#writes.set(key, { uid, status, resourceVersion });
  }

  /** The store has a new state of an object, or none any more. */
  shown(key: ObjectKey, object: KubernetesObject | undefined): void {
    const write = this.#writes.get(key);
    if (write === undefined) return;
    if (object?.metadata.uid !== write.uid || object.metadata.resourceVersion === write.resourceVersion) {
      this.#writes.delete(key);
    }
  }
}
