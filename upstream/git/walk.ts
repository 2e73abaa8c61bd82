// From tree objects to paths: measured first, so that a tree that unfolds to billions of entries is refused at once.
import { UpstreamFault } from '../fault.ts';
import { treeCaps } from '../limits.ts';
import type { Pace } from '../pace.ts';
import { TreeDamaged, type TreeItem, treeItems } from './tree.ts';

/** A file, and git's name for its bytes: `sha1:<40 hex>`. */
export interface WalkedFile {
  path: string;
  id: string;
}

/** A symbolic link, and the blob that holds its target. */
export interface WalkedLink {
  path: string;
  oid: string;
}

/** What had to be left out. */
export interface Remark {
  reason: 'BadFileName' | 'Submodule' | 'SpecialFile';
  path: string;
  message: string;
}

export interface Walked {
  files: WalkedFile[];
  links: WalkedLink[];
  remarks: Remark[];
  /** Every tree object that was met. */
  trees: Map<string, Buffer>;
}

/** A tree that the commit names and that is not at hand. */
export class TreeMissing extends Error {}

/** What a tree object unfolds to. */
interface Measured {
  /** Entries of all kinds, in all levels below. */
  entries: number;
  /** Levels below, this one counted. */
  height: number;
  /** The longest path below. */
  pathBytes: number;
}

/**
 * Everything below a root tree, in git's order.
 * @param find the raw tree object of a name
 * @throws TreeMissing; UpstreamFault LimitExceeded beyond `treeCaps`, UpstreamInvalid for an object that is no tree
 */
export async function walk(root: string, find: (oid: string) => Buffer | undefined, pace: Pace): Promise<Walked> {
  const trees = new Map<string, Buffer>();
  const walked: Walked = { files: [], links: [], remarks: [], trees };
  try {
    await measure(root, find, trees, pace);
    await list(root, walked, pace);
  } catch (error) {
    if (!(error instanceof TreeDamaged)) throw error;
    throw new UpstreamFault('UpstreamInvalid', 'the repository holds a damaged tree object; run git fsck on it');
  }
  return walked;
}

/** Lists a tree whose size has been measured. */
async function list(root: string, { trees, files, links, remarks }: Walked, pace: Pace): Promise<void> {
  const begin = (oid: string, prefix: string, shownPrefix: string) => {
    return { prefix, shownPrefix, items: treeItems(trees.get(oid)!), names: new Set<string>() };
  };
  const open = [begin(root, '', '')];
  for (let folder = open.at(-1); folder !== undefined; folder = open.at(-1)) {
    await pace();
    const { value: item } = folder.items.next();
    if (item === undefined) {
      open.pop();
      continue;
    }
    const shown = folder.shownPrefix + item.shown;
    const remark = remarkOn(item, folder.names, shown);
    if (item.name !== undefined) folder.names.add(item.name);
    if (remark !== undefined) {
      remarks.push(remark);
      continue;
    }
    const path = folder.prefix + item.name;
    if (item.kind === 'folder') open.push(begin(item.oid, `${path}/`, `${shown}/`));
    else if (item.kind === 'link') links.push({ path, oid: item.oid });
    else files.push({ path, id: `sha1:${item.oid}` });
  }
}

function remarkOn(item: TreeItem, before: ReadonlySet<string>, path: string): Remark | undefined {
  const why = item.name !== undefined && before.has(item.name) ? 'stands twice in its folder' : item.why;
  if (why !== undefined) {
    const what = item.kind === 'folder' ? 'folder, with all that is in it,' : 'file';
    return { reason: 'BadFileName', path, message: `the name ${why}, so the ${what} is left out; rename it` };
  }
  if (item.kind === 'submodule') {
    return {
      reason: 'Submodule',
      path,
      message: 'a submodule is not followed; write a SkillSource for the repository it names',
    };
  }
  if (item.kind === 'special') {
    return { reason: 'SpecialFile', path, message: 'neither a file, a link nor a folder, so it is left out' };
  }
  return undefined;
}

/** Parses each tree object once, however often it is named, and adds up what it would unfold to. */
async function measure(
  root: string,
  find: (oid: string) => Buffer | undefined,
  trees: Map<string, Buffer>,
  pace: Pace,
): Promise<void> {
  const done = new Map<string, Measured>();
  const begin = (oid: string) => {
    const data = find(oid);
    if (data === undefined) throw new TreeMissing(oid);
    trees.set(oid, data);
    const sum: Measured = { entries: 0, height: 1, pathBytes: 0 };
    return { oid, items: treeItems(data), waiting: undefined as TreeItem | undefined, sum };
  };
  const open = [begin(root)];
  for (let tree = open.at(-1); tree !== undefined; tree = open.at(-1)) {
    await pace();
    const item = tree.waiting ?? tree.items.next().value;
    tree.waiting = undefined;
    if (item === undefined) {
      done.set(tree.oid, tree.sum);
      open.pop();
      continue;
    }
    const walksInto = item.kind === 'folder' && item.name !== undefined;
    const below = walksInto ? done.get(item.oid) : undefined;
    if (walksInto && below === undefined) {
      tree.waiting = item;
      open.push(begin(item.oid));
      if (open.length > treeCaps.depth) throw tooDeep();
      continue;
    }
    const { sum } = tree;
    sum.entries += 1 + (below?.entries ?? 0);
    sum.height = Math.max(sum.height, 1 + (below?.height ?? 0));
    sum.pathBytes = Math.max(sum.pathBytes, item.nameBytes + (below === undefined ? 0 : 1 + below.pathBytes));
    if (sum.entries > treeCaps.entries) {
      throw new UpstreamFault(
        'LimitExceeded',
        `the tree has more than ${treeCaps.entries} entries, which no field raises`,
      );
    }
    if (sum.height > treeCaps.depth) throw tooDeep();
    if (sum.pathBytes > treeCaps.pathBytes) {
      throw new UpstreamFault(
        'LimitExceeded',
        `the tree has a path of more than ${treeCaps.pathBytes} bytes, which no field raises`,
      );
    }
  }
}

const tooDeep = (): UpstreamFault =>
  new UpstreamFault('LimitExceeded', `the tree is more than ${treeCaps.depth} folders deep, which no field raises`);
