// From what was selected and read to the rows of a catalogue: names, addresses, rivals, rejections, counts. Pure.
import { createHash } from 'node:crypto';
import type { ParsedMain } from '../../catalogue/main-text.ts';
import { byCodePoint, isLibraryName, isSkillName, slug } from '../../catalogue/names.ts';
import { compareProblems, type Problem, type ProblemReason, problem, type Severity } from '../../catalogue/problem.ts';
import { addressInLibrary, separatorOf } from '../../catalogue/qualified-address.ts';
import { tooMuch } from '../../catalogue/skill-text.ts';
import { Slices } from '../../catalogue/slices.ts';
import type {
  ArtifactKind,
  ArtifactRow,
  Counts,
  FileRow,
  PackFileRow,
  ProblemRow,
} from '../../catalogue/source-catalogue.ts';
import { nameOf } from '../source/path.ts';
import { sorted } from '../source/sorted.ts';
import type { KnownContent } from './content.ts';
import type { SelectedFile } from './find-files.ts';
import { mediaTypeOf } from './media-type.ts';
import { newestFirst } from './newest-first.ts';
import { type Contents, realPathOf } from './read-contents.ts';
import { type Claim, settleRivals } from './rivals.ts';
import type { HarvestRules } from './rules.ts';
import type { SelectedArtifact, Selection } from './selection.ts';

export interface Assembled {
  /** By kind, then by address. */
  artifacts: ArtifactRow[];
  /** By path. */
  files: PackFileRow[];
  /** Worst first; at most `mostProblems`, while `counts` has them all. */
  problems: ProblemRow[];
  counts: Counts;
  /** Bytes of all distinct files that are served. */
  size: number;
  /** Number of distinct files that are served. */
  fileCount: number;
}

/** So many problems are published. */
const mostProblems = 10_000;

const longestName = 64;

const kinds: readonly ArtifactKind[] = ['skill', 'prompt', 'rule', 'profile'];

export async function assemble(
  selection: Selection,
  contents: Contents,
  { library, source }: Pick<HarvestRules, 'library' | 'source'>,
  found: readonly Problem[],
): Promise<Assembled> {
  const slices = new Slices();
  const problems: Problem[] = [...found, ...selection.problems];
  const contentAt = (file: SelectedFile): KnownContent => contents.byRealPath.get(realPathOf(file.entry))!;
  const told = new Set<string>();
  const tell: Tell = (reason, path, message, line, severity) => {
    const key = `${reason} ${path} ${line}`;
    if (told.has(key)) return;
    told.add(key);
    const one = problem(reason, path, message, line);
    problems.push(severity === undefined ? one : { ...one, severity });
  };

  const offers: Offer[] = [];
  const hopeless = new Set<string>();
  let rejected = selection.rejected;
  for (const artifact of selection.artifacts) {
    const parsed = parsedOf(artifact, contents, tell);
    if (parsed !== undefined) {
      offers.push({
        artifact: ownGrouped(artifact, parsed, library),
        parsed,
        files: rowsOf(artifact.files, contentAt, tell),
        lost: lostOf(artifact.files, contentAt),
      });
    } else if (artifact.version === undefined) rejected++;
    else hopeless.add(keyOf(artifact));
    if (slices.over) await slices.turn();
  }
  const claims: Claim<Versions>[] = [];
  const byArtifact = Map.groupBy(offers, ({ artifact }) => keyOf(artifact));
  for (const [key, versions] of byArtifact) {
    hopeless.delete(key);
    const [newest, ...older] = await newestFirst(versions, ({ artifact }) => artifact.version?.name ?? '', slices);
    const claim = await claimOf([newest!, ...older], library, tell, slices);
    if (claim === undefined) rejected++;
    else claims.push(claim);
    if (slices.over) await slices.turn();
  }
  rejected += hopeless.size;
  const byKind = Map.groupBy(claims, ({ of: [{ artifact }] }) => artifact.kind);
  const artifacts: ArtifactRow[] = [];
  const served: Record<ArtifactKind, number> = { skill: 0, prompt: 0, rule: 0, profile: 0 };
  let duplicates = 0;
  const entries: SelectedFile[] = [];
  for (const kind of kinds) {
    const settled = await settleRivals(byKind.get(kind) ?? [], source, separatorOf(kind), slices);
    duplicates += settled.duplicates.length;
    served[kind] = settled.served.length;
    for (const { claim, like } of settled.duplicates) {
      if (slices.over) await slices.turn();
      const message = `The same, byte for byte, is served from ${mainOf(like)}: remove one.`;
      tell('Duplicate', mainOf(claim), message);
    }
    for (const { claim, address, holder } of settled.moved) {
      if (slices.over) await slices.turn();
      tell('Moved', mainOf(claim), movedMessage(kind, library, claim.name, address, holder));
    }
    const rows: ArtifactRow[] = [];
    for (const { claim, address } of settled.served) {
      for (const [at, version] of claim.of.entries()) {
        const { row, unadvertised } = artifactRow(version, claim.name, address);
        rows.push(row);
        if (at === 0 && unadvertised !== undefined)
          tell('NotAdvertised', mainOf(claim), unadvertised, version.parsed.line);
        for (const file of version.artifact.files) entries.push(file);
        if (slices.over) await slices.turn();
      }
    }
    for (const row of await sorted(rows, (a, b) => byCodePoint(a.address, b.address), slices)) artifacts.push(row);
  }

  const skills = new Set(artifacts.flatMap(({ kind, address }) => (kind === 'skill' ? [address] : [])));
  const files: PackFileRow[] = [];
  for (const file of selection.files) {
    const taken = addressAbove(file.path, skills);
    if (taken !== undefined) {
      const message = `The skill at ${library}/${taken} has this address, so the file is rejected: rename it or its folder.`;
      tell('AddressTaken', file.entry.path, message);
      continue;
    }
    for (const row of rowsOf([file], contentAt, tell)) {
      files.push({ row: 'file', ...row });
      entries.push(file);
    }
    if (slices.over) await slices.turn();
  }

  const counts: Counts = {
    skills: served.skill,
    prompts: served.prompt,
    rules: served.rule,
    profiles: served.profile,
    files: files.length,
    discovered: claims.length + rejected,
    duplicates,
    rejected,
    problems: problems.length,
  };
  const worstFirst = await sorted(problems, compareProblems, slices);
  const rows = worstFirst.slice(0, mostProblems).map((one): ProblemRow => ({ row: 'problem', ...one }));
  return { artifacts, files, problems: rows, counts, ...(await sizeOf(entries, contentAt, slices)) };
}

/** What can be served of an artifact, or of one version of it. */
interface Offer {
  artifact: SelectedArtifact;
  parsed: ParsedMain;
  files: FileRow[];
  lost: string;
}

/** What claims an address: the versions of one artifact, the newest one first. */
type Versions = readonly [newest: Offer, ...older: Offer[]];

const mainOf = ({ of: [{ artifact }] }: Claim<Versions>): string => artifact.main.path;

/** The versions of one artifact have the same. */
const keyOf = ({ kind, main, version }: SelectedArtifact): string =>
  version === undefined ? `${kind} at ${main.path}` : `${kind} in ${version.of}`;

/** A skill that is called as its folder is no version of another one, unless that is certain: it is one of its group. */
function ownGrouped(artifact: SelectedArtifact, { name }: ParsedMain, library: string): SelectedArtifact {
  const { version, folder } = artifact;
  if (version === undefined || version.isCertain || name === undefined || name !== nameOf(folder)) return artifact;
  const group = nameOf(version.of);
  const isGroup = isLibraryName(group) && group !== library;
  return { ...artifact, version: undefined, group: artifact.group ?? (isGroup ? group : undefined) };
}

type Tell = (reason: ProblemReason, path: string, message: string, line?: number, severity?: Severity) => void;

/** @returns undefined for what cannot be served */
function parsedOf(artifact: SelectedArtifact, contents: Contents, tell: Tell): ParsedMain | undefined {
  const { path } = artifact.main;
  const content = contents.byRealPath.get(realPathOf(artifact.main))!;
  if ('tooLarge' in content) {
    tell('TooLarge', path, tooLarge(content.tooLarge));
    return undefined;
  }
  const parsed = contents.parsed(content, artifact.parser);
  for (const { reason, message, line } of parsed.findings) tell(reason, path, message, line);
  if (parsed.rejected === undefined) return parsed;
  tell(parsed.rejected.reason, path, parsed.rejected.message, parsed.rejected.line, 'error');
  return undefined;
}

/** @returns undefined for an artifact that is rejected */
async function claimOf(
  versions: Versions,
  library: string,
  tell: Tell,
  slices: Slices,
): Promise<Claim<Versions> | undefined> {
  const [{ artifact, parsed, files, lost }] = versions;
  const { kind, version, isSingle } = artifact;
  const { path } = artifact.main;
  const folder = version?.of ?? artifact.folder;
  const name = artifact.name === undefined ? skillName(folder, path, parsed, library, tell) : artifact.name.name;
  if (name === '') {
    const message =
      kind === 'skill'
        ? 'Neither the frontmatter nor the folder gives a name, so the skill is rejected: write `name`.'
        : `Its file or folder gives no name, so the ${kind} is rejected: use letters and digits of ASCII.`;
    tell('BadFileName', path, message);
    return undefined;
  }
  if (artifact.name?.mended === true) {
    tell('NameMended', path, `The file's name is no name for a prompt, so it is called ${name}: rename the file.`);
  }
  const claim = { name, folder, isSingle, files, of: versions };
  if (version !== undefined) return { ...claim, lost: await digestOfVersions(versions, slices) };
  return { ...claim, lost: parsed.prompt === undefined ? lost : JSON.stringify(parsed.prompt) };
}

/** Tells artifacts apart that differ in a version, whichever it is. */
async function digestOfVersions(versions: Versions, slices: Slices): Promise<string> {
  const hash = createHash('sha256');
  for (const { artifact, files, lost } of versions) {
    hash.update(JSON.stringify([artifact.version?.name, files.map(({ path, digest }) => [path, digest]), lost]));
    if (slices.over) await slices.turn();
  }
  return hash.digest('hex');
}

function skillName(folder: string, main: string, parsed: ParsedMain, library: string, tell: Tell): string {
  if (parsed.name !== undefined) return parsed.name;
  const own = folder === '' ? library : nameOf(folder);
  const name = isSkillName(own) ? own : slug(own, longestName);
  if (name !== '' && name !== own) {
    const message = `The folder's name is no skill name, so the skill is called ${name}: write \`name: ${name}\`.`;
    tell('NameMended', main, message);
  }
  return name;
}

function movedMessage(
  kind: ArtifactKind,
  library: string,
  name: string,
  address: string,
  holder: Claim<Versions>,
): string {
  const taken = addressInLibrary(library, kind, name);
  const now = addressInLibrary(library, kind, address);
  const other = mainOf(holder);
  return kind === 'prompt'
    ? `The name ${taken} is taken by ${other}, so this prompt is called ${now}: give it a name of its own.`
    : `The address ${taken} is taken by ${other}, so this ${kind} is at ${now}: give it a name of its own.`;
}

/** @returns with the row why it is not advertised, for who looks for it there */
function artifactRow(
  { artifact, parsed, files }: Offer,
  name: string,
  address: string,
): { row: ArtifactRow; unadvertised: string | undefined } {
  const { kind, group, folder, version, mainName } = artifact;
  const why = [...parsed.unadvertised, ...(kind === 'skill' ? tooMuch(files) : [])];
  const row: ArtifactRow = {
    row: 'artifact',
    kind,
    address,
    name,
    version: version?.name ?? parsed.version,
    ...(group === undefined ? {} : { group }),
    folder,
    ...(version === undefined ? {} : { versionsIn: version.of }),
    ...(parsed.title === undefined || parsed.title === name ? {} : { title: parsed.title }),
    description: parsed.description,
    tags: parsed.tags,
    ...(parsed.frontmatter === undefined ? {} : { frontmatter: parsed.frontmatter }),
    advertised: why.length === 0,
    ...(parsed.prompt === undefined ? {} : { prompt: parsed.prompt }),
    main: mainName,
    files,
  };
  const unadvertised =
    why.length === 0
      ? undefined
      : `The skill can be read at its address, but clients that hold to the specification refuse it: ${why.join('; ')}.`;
  return { row, unadvertised };
}

/** The rows of the files that can be served, with a problem for each that cannot. */
function rowsOf(
  files: readonly SelectedFile[],
  contentAt: (file: SelectedFile) => KnownContent,
  tell: Tell,
): FileRow[] {
  const rows: FileRow[] = [];
  for (const file of files) {
    const content = contentAt(file);
    if ('tooLarge' in content) {
      tell('TooLarge', file.entry.path, tooLarge(content.tooLarge));
      continue;
    }
    const { digest, size, text, lfsPointer } = content;
    if (lfsPointer) {
      const message = 'The file is only a pointer into Git LFS, and is served as that: commit the file itself.';
      tell('LfsPointer', file.entry.path, message);
    }
    rows.push({ path: file.path, digest, size, mediaType: mediaTypeOf(file.path, text), text });
  }
  return rows;
}

/** Names the files that are too large to be read: folders that differ in them are not taken for the same. */
const lostOf = (files: readonly SelectedFile[], contentAt: (file: SelectedFile) => KnownContent): string =>
  files
    .filter((file) => 'tooLarge' in contentAt(file))
    .map(({ path, entry }) => `${path}\0${entry.id ?? entry.path}\n`)
    .join('');

const tooLarge = (size: number): string =>
  `The file has ${size} bytes, more than spec.limits.fileSize, so it is rejected: raise the limit, or exclude it.`;

/** The skill address that a path is, or lies below. */
function addressAbove(path: string, addresses: ReadonlySet<string>): string | undefined {
  for (let end = path.indexOf('/'); ; end = path.indexOf('/', end + 1)) {
    const above = end === -1 ? path : path.slice(0, end);
    if (addresses.has(above)) return above;
    if (end === -1) return undefined;
  }
}

/** A file in several artifacts, one inside the other, is one file. */
async function sizeOf(
  files: readonly SelectedFile[],
  contentAt: (file: SelectedFile) => KnownContent,
  slices: Slices,
): Promise<{ size: number; fileCount: number }> {
  const seen = new Set<string>();
  let total = 0;
  for (const file of files) {
    const content = contentAt(file);
    if (slices.over) await slices.turn();
    if ('tooLarge' in content || seen.has(file.entry.path)) continue;
    seen.add(file.entry.path);
    total += content.size;
  }
  return { size: total, fileCount: seen.size };
}
