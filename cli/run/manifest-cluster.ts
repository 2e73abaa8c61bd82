// A folder of manifests in the API server's place: the same objects, stores and statuses, for a laptop without a cluster.
import { createHash } from 'node:crypto';
import { setTimeout as pause } from 'node:timers/promises';
import { isDeepStrictEqual } from 'node:util';
import {
  type Cluster,
  type ConfigMapContent,
  type EventRecord,
  type KubernetesObject,
  keyOf,
  type ObjectKey,
  type SecretContent,
  type Store,
} from '../../operator/kubernetes/cluster.ts';
import { type AdmittedObject, admit } from './admission.ts';
import { ManifestFolder, type Reading } from './documents.ts';

export interface ManifestClusterOptions {
  folder: string;
  /** The one file of it that counts; every manifest when left out. */
  only?: string | undefined;
  environment: Readonly<Record<string, string | undefined>>;
  /** Told once for each new complaint about a manifest. */
  complain(message: string): void;
  /** Told of every event that the operator records. */
  event(object: KubernetesObject, event: EventRecord): void;
}

const pollMilliseconds = 300;
/** Age is the order of the documents: each is a second younger than the one before it. */
const firstDocument = Date.UTC(2000, 0, 1);

class ManifestStore implements Store {
  readonly objects = new Map<ObjectKey, KubernetesObject>();
  readonly #listeners: ((key: ObjectKey) => void)[] = [];
  synced = false;
  get = (key: ObjectKey): KubernetesObject | undefined => this.objects.get(key);
  list = (): KubernetesObject[] => [...this.objects.values()];
  onChange(listener: (key: ObjectKey) => void): void {
    this.#listeners.push(listener);
  }
  tell(key: ObjectKey): void {
    for (const listener of this.#listeners) listener(key);
  }
}

export class ManifestCluster implements Cluster {
  readonly sources = new ManifestStore();
  readonly gateways = new ManifestStore();
  readonly configMaps = new ManifestStore();
  readonly #options: ManifestClusterOptions;
  readonly #folder: ManifestFolder;
  readonly #synced = Promise.withResolvers<void>();
  #admitted = new Map<string, AdmittedObject>();
  #complaints = new Set<string>();
  #version = 0;

  constructor(options: ManifestClusterOptions) {
    this.#options = options;
    this.#folder = new ManifestFolder(options.folder, options.only);
  }

  covers(): boolean {
    return true;
  }

  async run(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      await this.load();
      await pause(pollMilliseconds, undefined, { signal }).catch(() => undefined);
    }
  }

  synced(signal: AbortSignal): Promise<void> {
    return Promise.race([
      this.#synced.promise,
      new Promise<void>((_, reject) => signal.addEventListener('abort', () => reject(signal.reason), { once: true })),
    ]);
  }

  /** Reads the folder once and takes over what changed. */
  async load(): Promise<void> {
    let reading: Reading | undefined;
    try {
      reading = await this.#folder.read();
    } catch (error) {
      this.#tell([`${this.#options.folder}: cannot be read (${(error as NodeJS.ErrnoException).code ?? 'error'})`]);
      return;
    }
    if (reading !== undefined) this.#take(reading);
    for (const store of [this.sources, this.gateways, this.configMaps]) store.synced = true;
    this.#synced.resolve();
  }

  #take({ documents, complaints }: Reading): void {
    const admitted = new Map<string, AdmittedObject>();
    const said = [...complaints];
    for (const document of documents) {
      const admission = admit(document);
      if (!admission) continue;
      const at = `${document.file}:${document.line}`;
      if (!admission.ok) {
        said.push(`${at}: ${admission.message}`);
        const before = admission.identity && this.#admitted.get(admission.identity);
        if (admission.identity && before) admitted.set(admission.identity, before);
        continue;
      }
      const { kind, namespace, name } = admission.object;
      const identity = `${kind} ${namespace}/${name}`;
      if (admitted.has(identity)) said.push(`${at}: ${identity} stands twice; the first one holds`);
      else admitted.set(identity, admission.object);
    }
    this.#admitted = admitted;
    this.#tell(said);
    const objects = [...admitted.values()];
    this.#fill(this.sources, objects, 'SkillSource');
    this.#fill(this.gateways, objects, 'SkillGateway');
    this.#fill(this.configMaps, objects, 'ConfigMap');
  }

  #fill(store: ManifestStore, objects: AdmittedObject[], kind: AdmittedObject['kind']): void {
    const changed: ObjectKey[] = [];
    const present = new Set<ObjectKey>();
    objects.forEach((admitted, order) => {
      if (admitted.kind !== kind) return;
      const key = `${admitted.namespace}/${admitted.name}`;
      present.add(key);
      const before = store.objects.get(key);
      const object = this.#objectOf(admitted, before, order);
      if (object === before) return;
      store.objects.set(key, object);
      changed.push(key);
    });
    for (const key of [...store.objects.keys()]) {
      if (present.has(key)) continue;
      store.objects.delete(key);
      changed.push(key);
    }
    for (const key of changed) store.tell(key);
  }

  #objectOf(admitted: AdmittedObject, before: KubernetesObject | undefined, order: number): KubernetesObject {
    const { apiVersion, kind, namespace, name, uid, labels, annotations, content } = admitted;
    const creationTimestamp = new Date(firstDocument + order * 1000).toISOString().replace('.000Z', 'Z');
    const spec = kind === 'ConfigMap' ? { hash: hashOf(content) } : content;
    const sameSpec = before !== undefined && isDeepStrictEqual(before.spec, spec);
    if (
      sameSpec &&
      before.metadata.creationTimestamp === creationTimestamp &&
      isDeepStrictEqual(before.metadata.labels, labels) &&
      isDeepStrictEqual(before.metadata.annotations, annotations)
    ) {
      return before;
    }
    return {
      apiVersion,
      kind,
      metadata: {
        namespace,
        name,
        uid,
        generation: (before?.metadata.generation ?? 0) + (sameSpec ? 0 : 1),
        resourceVersion: String(++this.#version),
        creationTimestamp,
        labels,
        annotations,
      },
      spec,
      ...(before?.status === undefined ? {} : { status: before.status }),
    };
  }

  async readSecret(namespace: string, name: string): Promise<SecretContent | undefined> {
    const object = this.#admitted.get(`Secret ${namespace}/${name}`);
    if (!object) return undefined;
    const data = new Map<string, Buffer>();
    for (const [key, value] of dataOf(object, 'data')) data.set(key, Buffer.from(value, 'base64'));
    for (const [key, value] of dataOf(object, 'stringData')) {
      const filled = fillIn(value, this.#options.environment);
      if (filled.ok) data.set(key, Buffer.from(filled.value));
      else
        this.#tellOnce(`Secret ${name}: key ${key} names the environment variable ${filled.missing}, which is not set`);
    }
    return { data, resourceVersion: hashOf([...data].map(([key, value]) => [key, value.toString('base64')])) };
  }

  async readConfigMap(namespace: string, name: string): Promise<ConfigMapContent | undefined> {
    const object = this.#admitted.get(`ConfigMap ${namespace}/${name}`);
    if (!object) return undefined;
    const data = new Map<string, Buffer>();
    for (const [key, value] of dataOf(object, 'data')) data.set(key, Buffer.from(value));
    for (const [key, value] of dataOf(object, 'binaryData')) data.set(key, Buffer.from(value, 'base64'));
    return { data, annotations: object.annotations };
  }

  async applyStatus(object: KubernetesObject, status: Record<string, unknown>): Promise<void> {
    const store = object.kind === 'SkillSource' ? this.sources : this.gateways;
    const key = keyOf(object);
    const current = store.objects.get(key);
    if (!current || isDeepStrictEqual(current.status, status)) return;
    const metadata = { ...current.metadata, resourceVersion: String(++this.#version) };
    store.objects.set(key, { ...current, metadata, status });
    store.tell(key);
  }

  recordEvent(object: KubernetesObject, event: EventRecord): void {
    this.#options.event(object, event);
  }

  /** All that there is to complain about now: what is new is told, what is mended may be told again later. */
  #tell(complaints: string[]): void {
    const told = this.#complaints;
    this.#complaints = new Set();
    for (const complaint of complaints) {
      if (told.has(complaint)) this.#complaints.add(complaint);
      else this.#tellOnce(complaint);
    }
  }

  #tellOnce(complaint: string): void {
    if (this.#complaints.has(complaint)) return;
    this.#complaints.add(complaint);
    this.#options.complain(complaint);
  }
}

const hashOf = (value: unknown): string => createHash('sha256').update(JSON.stringify(value)).digest('hex');

function dataOf(object: AdmittedObject, field: 'data' | 'stringData' | 'binaryData'): [string, string][] {
  return Object.entries((object.content[field] ?? {}) as Record<string, unknown>).map(([key, value]) => [
    key,
    String(value),
  ]);
}

/** `$(NAME)` in a Secret's stringData stands for an environment variable, as in a container's command. */
function fillIn(
  text: string,
  environment: Readonly<Record<string, string | undefined>>,
): { ok: true; value: string } | { ok: false; missing: string } {
  let missing: string | undefined;
  const value = text.replace(/\$\(([A-Za-z_][A-Za-z0-9_]*)\)/g, (_, name: string) => {
    const found = environment[name];
    if (found === undefined) missing ??= name;
    return found ?? '';
  });
  return missing === undefined ? { ok: true, value } : { ok: false, missing };
}
