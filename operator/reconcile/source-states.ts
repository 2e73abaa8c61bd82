// The states of all sources: made on first sight from the volume and the status, dropped when the object is gone.
import { readSourceCatalogue } from '../../catalogue/source-catalogue-reader.ts';
import type { KubernetesObject, ObjectKey } from '../kubernetes/cluster.ts';
import { keyOf } from '../kubernetes/cluster.ts';
import { readRecord } from '../publish/record.ts';
import type { Volume } from '../publish/volume.ts';
import { type PublishedRecord, rememberedBy, type SourceState, summaryOf } from './source-state.ts';

export class SourceStates {
  readonly #volume: Volume;
  readonly #states = new Map<ObjectKey, { uid: string; state: Promise<SourceState> }>();

  constructor(volume: Volume) {
    this.#volume = volume;
  }

  /**
   * An object of the same name with another uid is another source: nothing of the old one counts for it.
   * @throws SourceFault StorageFailed when the volume cannot be read; the next call tries again
   */
  async of(object: KubernetesObject): Promise<SourceState> {
    const key = keyOf(object);
    const { uid } = object.metadata;
    const known = this.#states.get(key);
    if (known?.uid === uid) return await known.state;
    const made = { uid, state: this.#make(object) };
    this.#states.set(key, made);
    made.state.catch(() => {
      if (this.#states.get(key) === made) this.#states.delete(key);
    });
    return await made.state;
  }

  /** The state of a source that has been seen and whose files on the volume could be read. */
  async get(key: ObjectKey): Promise<SourceState | undefined> {
    return await this.#states.get(key)?.state.catch(() => undefined);
  }

  forget(key: ObjectKey): void {
    this.#states.delete(key);
  }

  async #make(object: KubernetesObject): Promise<SourceState> {
    const { uid } = object.metadata;
    const published = await this.#published(object);
    return {
      uid,
      looked: false,
      triggered: false,
      failures: 0,
      ...(published === undefined ? {} : { published, settings: published.record.settings }),
      ...rememberedBy(object.status),
    };
  }

  /** A catalogue that cannot be read any more counts as none: the next look publishes it anew. */
  async #published(object: KubernetesObject): Promise<PublishedRecord | undefined> {
    const { namespace, name, uid } = object.metadata;
    const record = await readRecord(this.#volume, { namespace, name });
    if (record === undefined || record.uid !== uid) return undefined;
    const catalogue = await readSourceCatalogue(this.#volume.root, record.catalogue).catch(() => undefined);
    if (catalogue === undefined) return undefined;
    const { contents: _contents, ...head } = record;
    return { record: head, ...summaryOf(catalogue) };
  }
}
