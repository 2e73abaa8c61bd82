// The states of all sources: made on first sight from the volume and the status, dropped when the object is gone.
import { readSourceCatalogue } from '../../catalogue/source-catalogue-reader.ts';
import { CatalogueUnreadable } from '../../catalogue/unreadable.ts';
import type { KubernetesObject, ObjectKey } from '../kubernetes/cluster.ts';
import { keyOf } from '../kubernetes/cluster.ts';
import type { Key } from '../publish/key.ts';
import { readRecord, type SourceRecord } from '../publish/record.ts';
import { errnoOf, storageFault } from '../publish/storage-fault.ts';
import type { Volume } from '../publish/volume.ts';
import { type PublishedRecord, rememberedBy, type SourceState, summaryOf } from './source-state.ts';

export class SourceStates {
  readonly #volume: Volume;
  readonly #readCatalogue: typeof readSourceCatalogue;
  readonly #states = new Map<ObjectKey, { uid: string; state: Promise<SourceState> }>();

  /** @param readCatalogue how a catalogue is read: a disk that fails for a moment is no thing that a test can have */
  constructor(volume: Volume, readCatalogue: typeof readSourceCatalogue = readSourceCatalogue) {
    this.#volume = volume;
    this.#readCatalogue = readCatalogue;
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

  /**
   * None on a volume that is not there means nothing: taken as "never published" it would empty gateways when the volume
   * is back. So none counts where the volume can be written, and is asked for once more, since it may be back only now.
   * @throws SourceFault StorageFailed
   */
  async #record(key: Key): Promise<SourceRecord | undefined> {
    const record = await readRecord(this.#volume, key);
    if (record !== undefined) return record;
    await this.#volume.checkWritable();
    return await readRecord(this.#volume, key);
  }

  /**
   * A catalogue that is gone or damaged counts as none, and the next look publishes it anew; one that cannot be read
   * just now is still the last good one.
   * @throws SourceFault StorageFailed
   */
  async #published(object: KubernetesObject): Promise<PublishedRecord | undefined> {
    const { namespace, name, uid } = object.metadata;
    const record = await this.#record({ namespace, name });
    if (record === undefined || record.uid !== uid) return undefined;
    const { contents: _contents, ...head } = record;
    try {
      return { record: head, ...summaryOf(await this.#readCatalogue(this.#volume.root, record.catalogue)) };
    } catch (error) {
      const cause = error instanceof CatalogueUnreadable ? error.cause : error;
      const errno = errnoOf(cause);
      if (errno === undefined || errno === 'ENOENT') return undefined;
      throw storageFault('read', record.catalogue.path, cause);
    }
  }
}
