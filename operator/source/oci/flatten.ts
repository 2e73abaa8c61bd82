// The layers of an artifact laid over one another, as a container's file system is: later ones win, and whiteouts take away. Pure.
import { posix } from 'node:path';
import { type Problem, type ProblemReason, problem } from '../../../catalogue/problem.ts';
import { Slices } from '../../../catalogue/slices.ts';
import { checkCaps } from '../folder-tree.ts';
import { folderOf, joinPath, nameOf, pathFault, printable } from '../path.ts';
import type { TreeEntry } from '../source.ts';
import type { LayerRecord } from './layer.ts';

/** A layer as it is laid: the entries of a tar, or one file that is the whole layer. */
export interface FlatLayer {
  digest: string;
  records: readonly LayerRecord[];
  isFile: boolean;
}

/** Where the bytes of a file are: the layer, and its number among the layer's files. */
export interface Place {
  digest: string;
  at: number | 'whole';
}

export interface Flattened {
  entries: TreeEntry[];
  /** By path, of files. */
  places: ReadonlyMap<string, Place>;
  problems: Problem[];
}

type FileNode = TreeEntry & Place;
type Node = FileNode | TreeEntry | Folder;
type Folder = Map<string, Node>;

const whiteout = '.wh.';
const opaque = '.wh..wh..opq';
const otherMark = '.wh..wh.';

/** So many of a reason are named; those beyond are counted. */
const mostNamed = 200;

/**
 * @param layers the lowest first
 * @throws UpstreamFault LimitExceeded for a path that is too deep or too long; the signal's reason
 */
export async function flatten(layers: readonly FlatLayer[], signal: AbortSignal): Promise<Flattened> {
  const slices = new Slices();
  const turn = async (): Promise<void> => {
    await slices.turn();
    signal.throwIfAborted();
  };
  const root: Folder = new Map();
  const remarks = new Remarks();
  for (const { digest, records, isFile } of layers) {
    for (const { path } of records) {
      if (nameOf(path).startsWith(whiteout)) takeAway(root, cleaned(path), remarks);
      if (slices.over) await turn();
    }
    let files = 0;
    for (const record of records) {
      const place: Place | undefined = record.type === 'file' ? { digest, at: isFile ? 'whole' : files++ } : undefined;
      const path = cleaned(record.path);
      if (path !== '' && !nameOf(path).startsWith(whiteout)) lay(root, path, record, place, remarks);
      if (slices.over) await turn();
    }
  }
  const entries: TreeEntry[] = [];
  const places = new Map<string, Place>();
  for (const node of below(root)) {
    if (slices.over) await turn();
    entries.push(node);
    if ('at' in node) places.set(node.path, node);
  }
  return { entries, places, problems: remarks.problems() };
}

/** Without `./` in front, and without the slash that folders have at their end. */
const cleaned = (path: string): string =>
  path
    .replace(/^(?:\.\/+)+/, '')
    .replace(/\/+$/, '')
    .replace(/^\.$/, '');

function faultOf(path: string): string | undefined {
  if (path.includes('\ufffd')) return 'is not UTF-8';
  return path.startsWith('/') ? 'begins with a slash' : pathFault(path);
}

function takeAway(root: Folder, path: string, remarks: Remarks): void {
  const name = nameOf(path);
  const folder = folderOf(path);
  if (name === opaque) {
    const emptied = folder === '' ? root : nodeAt(root, folder);
    if (emptied instanceof Map) emptied.clear();
    return;
  }
  if (name.startsWith(otherMark)) return;
  const gone = joinPath(folder, name.slice(whiteout.length));
  const fault = name === whiteout ? 'has an empty part' : faultOf(gone);
  if (fault !== undefined) remarks.badName(path, fault);
  const above = folder === '' ? root : nodeAt(root, folder);
  if (above instanceof Map && fault === undefined) above.delete(nameOf(gone));
}

function lay(root: Folder, path: string, record: LayerRecord, place: Place | undefined, remarks: Remarks): void {
  const fault = faultOf(path);
  if (fault !== undefined) remarks.badName(path, fault);
  const node = fault === undefined ? nodeOf(root, path, record, place, remarks) : undefined;
  if (node === undefined) return;
  checkCaps(path, path.split('/').length);
  const above = folderFor(root, folderOf(path));
  const name = nameOf(path);
  if (node instanceof Map && above.get(name) instanceof Map) return;
  above.set(name, node);
}

/** Undefined for what is left out. */
function nodeOf(
  root: Folder,
  path: string,
  record: LayerRecord,
  place: Place | undefined,
  remarks: Remarks,
): Node | undefined {
  switch (record.type) {
    case 'file':
      return { path, id: record.id, size: record.size, ...place! };
    case 'folder':
      return new Map();
    case 'link':
      return { path, link: withinRoot(record.target, path) };
    case 'special':
      remarks.add(
        'SpecialFile',
        path,
        'It is a device, a pipe or something else that is no file, so it is left out: remove it.',
      );
      return undefined;
    case 'hardLink': {
      const target = cleaned(record.target.replace(/^\/+/, ''));
      const isInside = target !== '' && faultOf(target) === undefined;
      const node = isInside ? nodeAt(root, target) : undefined;
      if (node !== undefined && !(node instanceof Map)) return { ...node, path };
      if (isInside) remarks.add('LinkBroken', path, 'The hard link leads to no file: pack the file itself.');
      else
        remarks.add(
          'LinkEscapes',
          path,
          'The hard link leads out of the artifact and is not followed: pack the file itself.',
        );
      return undefined;
    }
  }
}

/** What begins with a slash begins where a container's root would be, which is the artifact's. */
const withinRoot = (target: string, path: string): string =>
  target.startsWith('/') ? posix.relative(`/${folderOf(path)}`, target) || '.' : target;

function nodeAt(root: Folder, path: string): Node | undefined {
  let node: Node | undefined = root;
  for (const part of path.split('/')) node = node instanceof Map ? node.get(part) : undefined;
  return node;
}

/** The folder at a path, in the place of whatever stands in its way. */
function folderFor(root: Folder, path: string): Folder {
  let folder = root;
  if (path === '') return root;
  for (const part of path.split('/')) {
    const there = folder.get(part);
    const inner: Folder = there instanceof Map ? there : new Map();
    if (inner !== there) folder.set(part, inner);
    folder = inner;
  }
  return folder;
}

/** Every file and link. What has been given is forgotten, since a tree may be large. */
function* below(folder: Folder): Generator<Exclude<Node, Folder>> {
  for (const node of folder.values()) {
    if (node instanceof Map) yield* below(node);
    else yield node;
  }
  folder.clear();
}

class Remarks {
  readonly #problems: Problem[] = [];
  readonly #counts = new Map<ProblemReason, number>();

  add(reason: ProblemReason, path: string, message: string): void {
    const count = (this.#counts.get(reason) ?? 0) + 1;
    this.#counts.set(reason, count);
    if (count <= mostNamed) this.#problems.push(problem(reason, printable(path) || '.', message));
  }

  badName(path: string, fault: string): void {
    this.add('BadFileName', path, `The file is left out, since its name ${fault}: rename it.`);
  }

  problems(): Problem[] {
    const more = [...this.#counts].filter(([, count]) => count > mostNamed);
    return [
      ...this.#problems,
      ...more.map(([reason, count]) =>
        problem(reason, '.', `${count - mostNamed} more of the artifact's files are left out likewise.`),
      ),
    ];
  }
}
