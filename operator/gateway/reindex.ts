// A look, now, at every source that a gateway selects, through the reconcilers' own queues, until its catalogue tells of it.
import { type KubernetesObject, keyOf, type ObjectKey, type Store } from '../kubernetes/cluster.ts';
import { parseSkillGateway } from '../resources/parse.ts';
import { selectSources } from './selection.ts';

export interface ReindexEdges {
  cluster: { readonly sources: Store; readonly gateways: Store };
  /** Looks at a source, whatever its fingerprint says. @returns whether it did not fail exactly as it had before */
  look(source: ObjectKey): Promise<boolean>;
  /** Resolves when the gateway's catalogue tells of everything that is known now. */
  published(gateway: ObjectKey): Promise<void>;
  generation(gateway: ObjectKey): number | undefined;
  /** Aborts when the operator stops. */
  stop: AbortSignal;
}

export interface Reindexed {
  /** Names of the sources that did not fail exactly as they had before. */
  rebuilt: string[];
  /** Names of the sources that were still being looked at when it was time to answer; their looks go on. */
  unfinished: string[];
  /** The generation of index.json that tells of it; absent where nothing could be published. */
  generation?: number;
}

/** Why nothing is looked at: there is no such gateway, or what it selects cannot be told. */
export type ReindexRefusal = 'NotFound' | 'InvalidSpec';

/** How long the looks may take before an answer is given, and then the publication, in milliseconds. */
const usualPatience = { looks: 40_000, publication: 10_000 };

/** @throws the reason of `stop` */
export async function reindex(
  gateway: ObjectKey,
  edges: ReindexEdges,
  patience = usualPatience,
): Promise<Reindexed | ReindexRefusal> {
  const object = edges.cluster.gateways.get(gateway);
  if (object === undefined || object.metadata.deletionTimestamp !== undefined) return 'NotFound';
  const parsed = parseSkillGateway(object);
  if (!parsed.ok) return 'InvalidSpec';
  const selected = selectSources(parsed.spec.sources, sourcesBeside(object, edges.cluster.sources)).selected;

  const rebuilt = new Set<string>();
  const unfinished = new Set(selected.map(({ metadata }) => metadata.name));
  const looks = selected.map(async (source) => {
    const { name } = source.metadata;
    if (await edges.look(keyOf(source))) rebuilt.add(name);
    unfinished.delete(name);
  });
  await within(patience.looks, Promise.all(looks), edges.stop);
  const told = { rebuilt: [...rebuilt].sort(), unfinished: [...unfinished].sort() };
  await within(patience.publication, edges.published(gateway), edges.stop);
  const generation = edges.generation(gateway);
  return { ...told, ...(generation === undefined ? {} : { generation }) };
}

const sourcesBeside = ({ metadata: { namespace } }: KubernetesObject, sources: Store): KubernetesObject[] =>
  sources.list().filter((source) => source.metadata.namespace === namespace);

/** Resolves with the work or after so many milliseconds. @throws the signal's reason when it aborts first */
async function within(milliseconds: number, work: Promise<unknown>, stop: AbortSignal): Promise<void> {
  stop.throwIfAborted();
  const { promise: over, resolve, reject } = Promise.withResolvers<void>();
  const timer = setTimeout(resolve, milliseconds);
  const abort = (): void => reject(stop.reason);
  stop.addEventListener('abort', abort, { once: true });
  try {
    await Promise.race([work, over]);
  } finally {
    clearTimeout(timer);
    stop.removeEventListener('abort', abort);
  }
}
