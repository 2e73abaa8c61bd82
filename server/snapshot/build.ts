// From index.json and the sources' catalogues to a snapshot. In slices, and only what changed is made anew.
import type { ContentReader } from '../../catalogue/content.ts';
import type { Index, IndexSource, LibrarySetting } from '../../catalogue/index-file.ts';
import { byCodePoint } from '../../catalogue/names.ts';
import { Slices } from '../../catalogue/slices.ts';
import type { SourceCatalogue } from '../../catalogue/source-catalogue.ts';
import { keyedFiles } from './keys.ts';
import {
  byAscii,
  type Library,
  type PackFile,
  type Skill,
  type Snapshot,
  type Source,
  type SourceContent,
} from './snapshot.ts';
import { sortInSlices } from './sort.ts';

/**
 * @param catalogues by the source's name, for each source that index.json names a catalogue of
 * @param previous the snapshot in force: what is the same in both is shared
 */
export async function buildSnapshot(
  index: Index,
  catalogues: ReadonlyMap<string, SourceCatalogue>,
  content: ContentReader,
  previous?: Snapshot,
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
        before !== undefined && sameContent(before, source, libraryTags, previous!)
          ? before.content
          : await sourceContent(source, libraryTags, catalogues, slices),
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
    const shelves = shared ? before : await shelve(contents, slices);
    libraries.set(name, named(name, setting, shelves));
  }

  const skills: Skill[] = [];
  const groups = new Map<string, Skill[]>();
  for (const library of libraries.values()) {
    for (const skill of library.skills) {
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
  return { index, content, libraries, groups, skills, sources };
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

async function sourceContent(
  source: IndexSource,
  libraryTags: readonly string[],
  catalogues: ReadonlyMap<string, SourceCatalogue>,
  slices: Slices,
): Promise<SourceContent> {
  const skills: Skill[] = [];
  const files: PackFile[] = [];
  const content: SourceContent = {
    name: source.name,
    library: source.library,
    tags: new Set([source.library, source.name, ...libraryTags, ...source.tags].filter((tag) => tag !== '')),
    skills,
    files,
  };
  const catalogue = catalogues.get(source.name);
  if (catalogue === undefined) return content;
  const moves = new Map(source.moves.map((move) => [`${move.kind} ${move.from}`, move]));
  const taken = new Set<string>();
  for (const row of catalogue.artifacts) {
    if (slices.over) await slices.turn();
    if (row.kind !== 'skill' || taken.has(row.address)) continue;
    taken.add(row.address);
    const move = moves.get(`skill ${row.address}`);
    const address = move === undefined ? row.address : move.to;
    if (address !== undefined) skills.push({ from: content, address, qualified: `${source.library}/${address}`, row });
  }
  for (const row of catalogue.files) {
    if (slices.over) await slices.turn();
    if (!moves.has(`file ${row.path}`)) files.push({ from: content, row });
  }
  content.skills = await sortInSlices(skills, (a, b) => byAscii(a.address, b.address), slices);
  content.files = await sortInSlices(files, (a, b) => byCodePoint(a.row.path, b.row.path), slices);
  return content;
}

type Shelves = Omit<Library, 'name' | 'title' | 'description'>;

async function shelve(contents: readonly SourceContent[], slices: Slices): Promise<Shelves> {
  const skillAt = new Map<string, Skill>();
  let depth = 0;
  const skillsInTurn: Skill[] = [];
  const files: PackFile[] = [];
  const filePaths = new Set<string>();
  for (const content of contents) {
    for (const skill of content.skills) {
      if (slices.over) await slices.turn();
      if (skillAt.has(skill.address)) continue;
      skillAt.set(skill.address, skill);
      skillsInTurn.push(skill);
      depth = Math.max(depth, skill.address.split('/').length);
    }
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
    skills:
      contents.length === 1
        ? skillsInTurn
        : await sortInSlices(skillsInTurn, (a, b) => byAscii(a.address, b.address), slices),
    skillAt,
    depth,
    files: sortedFiles,
    fileAt: await keyedFiles(sortedFiles, ({ row }) => row.path, slices),
  };
}

function named(name: string, setting: LibrarySetting | undefined, shelves: Shelves): Library {
  const { contents, skills, skillAt, depth, files, fileAt } = shelves;
  return {
    name,
    ...(setting?.title ? { title: setting.title } : {}),
    ...(setting?.description ? { description: setting.description } : {}),
    contents,
    skills,
    skillAt,
    depth,
    files,
    fileAt,
  };
}
