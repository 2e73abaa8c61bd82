// From tree objects to paths: measured first, so that a tree that unfolds to billions of entries is refused at once.
import { UpstreamFault } from '../fault.ts';
import { treeCaps } from '../limits.ts';
import type { Pace } from '../pace.ts';
import { parseTree, TreeDamaged, type TreeItem } from './tree.ts';

/** A file or a link, by the blob that has its bytes or its target. */
export interface WalkedEntry {
  path: string;
  oid: string;
  link: boolean;
}

/** What had to be left out. */
export interface Remark {
  reason: 'BadFileName' | 'Submodule' | 'SpecialFile';
  path: string;
  message: string;
}

export interface Walked {
  entries: WalkedEntry[];
  remarks: Remark[];
  /** Every tree object that was met. */
  trees: Map<string, Buffer>;
}

/** A tree that the commit names and that is not at hand. */
export class TreeMissing extends Error {}

/** What a tree object unfolds to. Its items are not kept: half a million of them are a burden. */
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
  await measure(root, find, trees, pace);
  const walked: Walked = { entries: [], remarks: [], trees };
  const open = [{ prefix: '', shownPrefix: '', items: parse(trees.get(root)!), next: 0 }];
  for (let folder = open.at(-1); folder !== undefined; folder = open.at(-1)) {
    const item = folder.items[folder.next++];
    if (item === undefined) {
      open.pop();
      continue;
    }
    await pace();
    const shown = folder.shownPrefix + item.shown;
    const remark = remarkOn(item, shown);
    if (remark !== undefined) {
      walked.remarks.push(remark);
      continue;
    }
    const path = folder.prefix + item.name;
    if (item.kind === 'folder') {
      open.push({ prefix: `${path}/`, shownPrefix: `${shown}/`, items: parse(trees.get(item.oid)!), next: 0 });
    } else {
      walked.entries.push({ path, oid: item.oid, link: item.kind === 'link' });
    }
  }
  return walked;
}

function remarkOn(item: TreeItem, path: string): Remark | undefined {
  if (item.name === undefined) {
    const what = item.kind === 'folder' ? 'folder, with all that is in it,' : 'file';
    return { reason: 'BadFileName', path, message: `the name ${item.why}, so the ${what} is left out; rename it` };
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
    return { oid, items: parse(data), next: 0, sum };
  };
  const open = [begin(root)];
  for (let tree = open.at(-1); tree !== undefined; tree = open.at(-1)) {
    await pace();
    const item = tree.items[tree.next];
    if (item === undefined) {
      done.set(tree.oid, tree.sum);
      open.pop();
      continue;
    }
    const walksInto = item.kind === 'folder' && item.name !== undefined;
    const below = walksInto ? done.get(item.oid) : undefined;
    if (walksInto && below === undefined) {
      open.push(begin(item.oid));
      if (open.length > treeCaps.depth) throw tooDeep();
      continue;
    }
    tree.next++;
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

function parse(data: Buffer): TreeItem[] {
  try {
    return parseTree(data);
  } catch (error) {
    if (!(error instanceof TreeDamaged)) throw error;
    throw new UpstreamFault('UpstreamInvalid', 'the repository holds a damaged tree object; run git fsck on it');
  }
}
