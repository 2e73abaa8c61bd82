// From index.json and the sources' catalogues to a snapshot. In slices, and only what changed is made anew.
import type { ContentReader } from '../../catalogue/content.ts';
import type { Index, IndexSource, LibrarySetting } from '../../catalogue/index-file.ts';
import { byCodePoint } from '../../catalogue/names.ts';
import { addressInLibrary } from '../../catalogue/qualified-address.ts';
import { Slices } from '../../catalogue/slices.ts';
import type { ArtifactKind, ArtifactRow, SourceCatalogue } from '../../catalogue/source-catalogue.ts';
import { compareVersions } from '../../catalogue/versions.ts';
import { keyedFiles } from './keys.ts';
import {
  type Artifact,
  artifactKinds,
  type ByKind,
  byAscii,
  type Library,
  type PackFile,
  type Shelf,
  type Snapshot,
  type Source,
  type SourceContent,
} from './snapshot.ts';
import { sortInSlices } from './sort.ts';

/**
 * @param catalogues by the source's name, for each source that index.json names a catalogue of
 * @param previous the snapshot in force: what is the same in both is shared
 * @param anew sources whose catalogue is not the one that index.json names
 */
export async function buildSnapshot(
  index: Index,
  catalogues: ReadonlyMap<string, SourceCatalogue>,
  content: ContentReader,
  previous?: Snapshot,
  anew: ReadonlySet<string> = new Set(),
): Promise<Snapshot> {
  const slices = new Slices();
  const settings = new Map(index.libraries.map((library) => [library.name, library]));
  const sources: Source[] = [];
  const known = new Map(previous?.sources.map((source) => [source.settings.name, source]));
  for (const source of index.sources) {
    const libraryTags = settings.get(source.library)?.tags ?? [];
    const before = known.get(source.name);
    sources.push({
      settings: source,
      content:
        before !== undefined && !anew.has(source.name) && sameContent(before, source, libraryTags, previous!)
          ? before.content
          : await sourceContent(source, libraryTags, catalogues, slices),
      problems: catalogues.get(source.name)?.problems ?? [],
    });
  }

  const names = new Set([...settings.keys(), ...sources.map(({ content: { library } }) => library)]);
  // `a-b/x` stands before `a/x`: libraries in the order of their addresses, so that all skills together are in order.
  const ordered = [...names].sort((a, b) => byAscii(`${a}/`, `${b}/`));
  const libraries = new Map<string, Library>();
  for (const name of ordered) {
    const contents = sources.filter(({ content: { library } }) => library === name).map((source) => source.content);
    const setting = settings.get(name);
    const before = previous?.libraries.get(name);
    const shared =
      before !== undefined &&
      before.contents.length === contents.length &&
      before.contents.every((one, at) => one === contents[at]);
    const stock = shared ? before : await stockOf(contents, slices);
    libraries.set(name, named(name, setting, stock));
  }

  const skills: Artifact[] = [];
  const groups = new Map<string, Artifact[]>();
  for (const library of libraries.values()) {
    for (const skill of library.shelves.skill.all) {
      skills.push(skill);
      const { group } = skill.row;
      if (group !== undefined && !libraries.has(group)) {
        const members = groups.get(group);
        if (members) members.push(skill);
        else groups.set(group, [skill]);
      }
      if (slices.over) await slices.turn();
    }
  }
  const prompts: Artifact[] = [];
  for (const name of ordered.toSorted((a, b) => byAscii(`${a}_`, `${b}_`))) {
    for (const prompt of libraries.get(name)!.shelves.prompt.all) prompts.push(prompt);
    if (slices.over) await slices.turn();
  }
  return { index, content, libraries, groups, skills, prompts, sources };
}

function sameContent(
  before: Source,
  source: IndexSource,
  libraryTags: readonly string[],
  { index }: Snapshot,
): boolean {
  const tagsBefore = index.libraries.find(({ name }) => name === before.settings.library)?.tags ?? [];
  const decisive = (one: IndexSource, tags: readonly string[]): string =>
    JSON.stringify([one.library, one.tags, tags, one.catalogue?.digest, one.moves]);
  return decisive(before.settings, tagsBefore) === decisive(source, libraryTags);
}

const isKind = (kind: string): kind is ArtifactKind => (artifactKinds as readonly string[]).includes(kind);

async function sourceContent(
  source: IndexSource,
  libraryTags: readonly string[],
  catalogues: ReadonlyMap<string, SourceCatalogue>,
  slices: Slices,
): Promise<SourceContent> {
  const found: ByKind<Artifact[]> = { skill: [], prompt: [], rule: [], profile: [] };
  const artifacts: Record<ArtifactKind, readonly Artifact[]> = { ...found };
  const files: PackFile[] = [];
  const content: SourceContent = {
    name: source.name,
    library: source.library,
    tags: new Set([source.library, source.name, ...libraryTags, ...source.tags].filter((tag) => tag !== '')),
    artifacts,
    files,
  };
  const catalogue = catalogues.get(source.name);
  if (catalogue === undefined) return content;
  const moves = new Map(source.moves.map((move) => [`${move.kind} ${move.from}`, move]));
  const versionsAt: ByKind<Map<string, ArtifactRow[]>> = {
    skill: new Map(),
    prompt: new Map(),
    rule: new Map(),
    profile: new Map(),
  };
  for (const row of catalogue.artifacts) {
    if (slices.over) await slices.turn();
    const { kind } = row;
    if (!isKind(kind)) continue;
    const newer = versionsAt[kind].get(row.address);
    if (newer !== undefined) {
      newer.push(row);
      continue;
    }
    const versions = [row];
    versionsAt[kind].set(row.address, versions);
    const move = moves.get(`${kind} ${row.address}`);
    const address = move === undefined ? row.address : move.to;
    if (address === undefined) continue;
    const qualified = addressInLibrary(source.library, kind, address);
    found[kind].push({ kind, from: content, address, qualified, row, versions });
  }
  for (const row of catalogue.files) {
    if (slices.over) await slices.turn();
    if (!moves.has(`file ${row.path}`)) files.push({ from: content, row });
  }
  for (const kind of artifactKinds) {
    for (const versions of versionsAt[kind].values()) if (versions.length > 1) order(versions);
    artifacts[kind] = await sortInSlices(found[kind], (a, b) => byAscii(a.address, b.address), slices);
  }
  content.files = await sortInSlices(files, (a, b) => byCodePoint(a.row.path, b.row.path), slices);
  return content;
}

/** From the order of a catalogue, the newest one first and then from new to old, into that of versions. */
function order(versions: ArtifactRow[]): void {
  const newest = versions.shift()!;
  versions.reverse();
  const before = versions.findLastIndex(({ version }) => compareVersions(version, newest.version) < 0);
  versions.splice(before + 1, 0, newest);
}

type Stock = Pick<Library, 'contents' | 'shelves' | 'files' | 'fileAt'>;

/** Everything that the sources of one library put into it: for one address the first of them has the right. */
async function stockOf(contents: readonly SourceContent[], slices: Slices): Promise<Stock> {
  const shelves = {
    skill: await shelfOf('skill', contents, slices),
    prompt: await shelfOf('prompt', contents, slices),
    rule: await shelfOf('rule', contents, slices),
    profile: await shelfOf('profile', contents, slices),
  };
  const files: PackFile[] = [];
  const filePaths = new Set<string>();
  for (const content of contents) {
    for (const file of content.files) {
      if (slices.over) await slices.turn();
      if (filePaths.has(file.row.path)) continue;
      filePaths.add(file.row.path);
      files.push(file);
    }
  }
  const sortedFiles =
    contents.length === 1 ? files : await sortInSlices(files, (a, b) => byCodePoint(a.row.path, b.row.path), slices);
  return {
    contents,
    shelves,
    files: sortedFiles,
    fileAt: await keyedFiles(sortedFiles, ({ row }) => row.path, slices),
  };
}

async function shelfOf(kind: ArtifactKind, contents: readonly SourceContent[], slices: Slices): Promise<Shelf> {
  const at = new Map<string, Artifact>();
  const inTurn: Artifact[] = [];
  let depth = 0;
  for (const content of contents) {
    for (const artifact of content.artifacts[kind]) {
      if (slices.over) await slices.turn();
      if (at.has(artifact.address)) continue;
      at.set(artifact.address, artifact);
      inTurn.push(artifact);
      depth = Math.max(depth, artifact.address.split('/').length);
    }
  }
  const all =
    contents.length === 1 ? inTurn : await sortInSlices(inTurn, (a, b) => byAscii(a.address, b.address), slices);
  return { all, at, depth };
}

function named(
  name: string,
  setting: LibrarySetting | undefined,
  { contents, shelves, files, fileAt }: Stock,
): Library {
  return {
    name,
    ...(setting?.title ? { title: setting.title } : {}),
    ...(setting?.description ? { description: setting.description } : {}),
    contents,
    shelves,
    files,
    fileAt,
  };
}
