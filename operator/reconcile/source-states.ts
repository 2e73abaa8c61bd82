// The states of all sources: made on first sight from the volume and the status, dropped when the object is gone.
import { readSourceCatalogue } from '../../catalogue/source-catalogue-reader.ts';
import type { KubernetesObject, ObjectKey } from '../kubernetes/cluster.ts';
import { keyOf } from '../kubernetes/cluster.ts';
import { readRecord } from '../publish/record.ts';
import type { Volume } from '../publish/volume.ts';
import { faultOf, type PublishedRecord, type SourceState, summaryOf } from './source-state.ts';

export class SourceStates {
  readonly #volume: Volume;
  readonly #states = new Map<ObjectKey, Promise<SourceState>>();

  constructor(volume: Volume) {
    this.#volume = volume;
  }

  /** An object of the same name with another uid is another source: nothing of the old one counts for it. */
  async of(object: KubernetesObject): Promise<SourceState> {
    const key = keyOf(object);
    const known = this.#states.get(key);
    if (known && (await known).uid === object.metadata.uid) return known;
    const made = this.#make(object);
    this.#states.set(key, made);
    return made;
  }

  /** The state of a source that has been seen. */
  get(key: ObjectKey): Promise<SourceState> | undefined {
    return this.#states.get(key);
  }

  forget(key: ObjectKey): void {
    this.#states.delete(key);
  }

  async #make(object: KubernetesObject): Promise<SourceState> {
    const { uid } = object.metadata;
    const published = await this.#published(object);
    const fault = faultOf(object.status);
    return {
      uid,
      looked: false,
      triggered: false,
      failures: 0,
      ...(published === undefined ? {} : { published, settings: published.record.settings }),
      ...(fault === undefined ? {} : { fault }),
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
