// A ConfigMap as a source: its keys are paths, with `__` for `/`, or as an annotation says.
import { digestOf } from '../../catalogue/digest.ts';
import { byCodePoint } from '../../catalogue/names.ts';
import { type Problem, problem } from '../../catalogue/problem.ts';
import { UpstreamFault } from '../../upstream/fault.ts';
import type { ConfigMapContent } from '../kubernetes/cluster.ts';
import type { LookContext } from './backend.ts';
import { checkCaps } from './folder-tree.ts';
import { pathFault, printable } from './path.ts';
import type { Source, Tree, TreeEntry } from './source.ts';

/** Says of a key what its path is, where `__` will not do: a JSON object, key to path. */
export const pathsAnnotation = 'lyceum.dev/paths';

interface Listed {
  revision: string;
  files: Map<string, { entry: TreeEntry; bytes: Buffer }>;
  problems: Problem[];
}

/**
 * @param content the ConfigMap as it is now; undefined when it is not there
 * @throws UpstreamFault NotFound without a ConfigMap, UpstreamInvalid for an annotation that is no JSON object of texts
 */
export function openConfigMapSource(
  name: string,
  content: ConfigMapContent | undefined,
  { limits, received }: Pick<LookContext, 'limits' | 'received'>,
): Source {
  if (content === undefined) {
    throw new UpstreamFault('NotFound', `ConfigMap "${name}" is not there: create it, or correct spec.url`);
  }
  const { revision, files, problems } = listConfigMap(name, content);
  const tree: Tree = {
    revision,
    entries: [...files.values()].map(({ entry }) => entry),
    problems,
    async read(entries, sink) {
      for (const entry of entries) {
        const { bytes } = files.get(entry.path)!;
        if (bytes.length > limits.fileSize) sink.tooLarge(entry, bytes.length);
        else {
          received(bytes.length);
          await sink.take(entry, bytes);
        }
      }
    },
    close: async () => {},
  };
  return { probe: async () => revision, open: async () => tree, close: async () => {} };
}

function listConfigMap(name: string, { data, annotations }: ConfigMapContent): Listed {
  const written = writtenPaths(name, annotations[pathsAnnotation]);
  const files: Listed['files'] = new Map();
  const problems: Problem[] = [];
  for (const key of [...data.keys()].sort(byCodePoint)) {
    const path = written.get(key) ?? key.replaceAll('__', '/');
    const fault = pathFault(path) ?? (files.has(path) ? 'is that of another key' : undefined);
    if (fault !== undefined) {
      const message = `The key ${key} is left out, since its path ${fault}: rename it, or correct the annotation ${pathsAnnotation}.`;
      problems.push(problem('BadFileName', printable(path) || key, message));
      continue;
    }
    checkCaps(path, path.split('/').length);
    const bytes = data.get(key)!;
    files.set(path, { entry: { path, id: digestOf(bytes), size: bytes.length }, bytes });
  }
  for (const [key, path] of written) {
    if (data.has(key)) continue;
    const message = `The annotation ${pathsAnnotation} names the key ${printable(key)}, which the ConfigMap does not have: correct it.`;
    problems.push(problem('BadFileName', printable(path) || printable(key), message));
  }
  const lines = [...files.values()].map(({ entry }) => JSON.stringify([entry.path, entry.id])).sort(byCodePoint);
  return { revision: digestOf(lines.join('\n')), files, problems };
}

function writtenPaths(name: string, annotation: string | undefined): Map<string, string> {
  if (annotation === undefined) return new Map();
  let value: unknown;
  try {
    value = JSON.parse(annotation);
  } catch {
    throw unfitAnnotation(name);
  }
  if (typeof value !== 'object' || value === null || Array.isArray(value)) throw unfitAnnotation(name);
  const paths = new Map<string, string>();
  for (const [key, path] of Object.entries(value)) {
    if (typeof path !== 'string') throw unfitAnnotation(name);
    paths.set(key, path);
  }
  return paths;
}

const unfitAnnotation = (name: string): UpstreamFault =>
  new UpstreamFault(
    'UpstreamInvalid',
    `the annotation ${pathsAnnotation} of ConfigMap "${name}" is no JSON object from key to path: write {"KEY": "a/path.md"}`,
  );
