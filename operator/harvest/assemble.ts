// From what was selected and read to the rows of a catalogue: names, addresses, rivals, rejections, counts. Pure.

import type { ParsedMain } from '../../catalogue/main-text.ts';
import { byCodePoint, isSkillName, slug } from '../../catalogue/names.ts';
import { compareProblems, type Problem, type ProblemReason, problem, type Severity } from '../../catalogue/problem.ts';
import { separatorOf } from '../../catalogue/qualified-address.ts';
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

/** Where the addresses of a kind stand below a library, for messages. */
const places: Record<ArtifactKind, string> = { skill: '/', prompt: '_', rule: '/_rules/', profile: '/_profiles/' };

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

  const claims: Claim<Claimed>[] = [];
  let rejected = selection.rejected;
  for (const artifact of selection.artifacts) {
    const claim = claimOf(artifact, contents, library, tell);
    if (claim === undefined) rejected++;
    else {
      const lost = lostOf(artifact.files, contentAt);
      const { prompt } = claim.of.parsed;
      const { folder, isSingle } = artifact;
      claims.push({
        ...claim,
        folder,
        isSingle,
        files: rowsOf(artifact.files, contentAt, tell),
        lost: prompt === undefined ? lost : JSON.stringify(prompt),
      });
    }
    if (slices.over) await slices.turn();
  }
  const byKind = Map.groupBy(claims, ({ of }) => of.artifact.kind);
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
      const message = `The same, byte for byte, is served from ${like.of.artifact.main.path}: remove one.`;
      tell('Duplicate', claim.of.artifact.main.path, message);
    }
    for (const { claim, address, holder } of settled.moved) {
      if (slices.over) await slices.turn();
      tell('Moved', claim.of.artifact.main.path, movedMessage(kind, library, claim.name, address, holder));
    }
    const rows: ArtifactRow[] = [];
    for (const { claim, address } of settled.served) {
      rows.push(artifactRow(claim, address, tell));
      for (const file of claim.of.artifact.files) entries.push(file);
      if (slices.over) await slices.turn();
    }
    for (const row of await sorted(rows, (a, b) => byCodePoint(a.address, b.address), slices)) artifacts.push(row);
  }

  const skills = new Set(artifacts.slice(0, served.skill).map(({ address }) => address));
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
    discovered: selection.artifacts.length + selection.rejected,
    duplicates,
    rejected,
    problems: problems.length,
  };
  const worstFirst = await sorted(problems, compareProblems, slices);
  const rows = worstFirst.slice(0, mostProblems).map((one): ProblemRow => ({ row: 'problem', ...one }));
  return { artifacts, files, problems: rows, counts, ...(await sizeOf(entries, contentAt, slices)) };
}

/** What claims an address, before rivals are settled. */
interface Claimed {
  artifact: SelectedArtifact;
  parsed: ParsedMain;
}

type Tell = (reason: ProblemReason, path: string, message: string, line?: number, severity?: Severity) => void;

/** @returns undefined for an artifact that is rejected */
function claimOf(
  artifact: SelectedArtifact,
  contents: Contents,
  library: string,
  tell: Tell,
): Pick<Claim<Claimed>, 'name' | 'of'> | undefined {
  const { path } = artifact.main;
  const content = contents.byRealPath.get(realPathOf(artifact.main))!;
  if ('tooLarge' in content) {
    tell('TooLarge', path, tooLarge(content.tooLarge));
    return undefined;
  }
  const parsed = contents.parsed(content, artifact.parser);
  for (const { reason, message, line } of parsed.findings) tell(reason, path, message, line);
  if (parsed.rejected !== undefined) {
    tell(parsed.rejected.reason, path, parsed.rejected.message, parsed.rejected.line, 'error');
    return undefined;
  }
  const name = artifact.name === undefined ? skillName(artifact, parsed, library, tell) : artifact.name.name;
  if (name === '') {
    const message =
      artifact.kind === 'skill'
        ? 'Neither the frontmatter nor the folder gives a name, so the skill is rejected: write `name`.'
        : `Its file or folder gives no name, so the ${artifact.kind} is rejected: use letters and digits of ASCII.`;
    tell('BadFileName', path, message);
    return undefined;
  }
  if (artifact.name?.mended === true) {
    tell('NameMended', path, `The file's name is no name for a prompt, so it is called ${name}: rename the file.`);
  }
  return { name, of: { artifact, parsed } };
}

function skillName({ folder, main }: SelectedArtifact, parsed: ParsedMain, library: string, tell: Tell): string {
  if (parsed.name !== undefined) return parsed.name;
  const own = folder === '' ? library : nameOf(folder);
  const name = isSkillName(own) ? own : slug(own, longestName);
  if (name !== '' && name !== own) {
    const message = `The folder's name is no skill name, so the skill is called ${name}: write \`name: ${name}\`.`;
    tell('NameMended', main.path, message);
  }
  return name;
}

function movedMessage(
  kind: ArtifactKind,
  library: string,
  name: string,
  address: string,
  holder: Claim<Claimed>,
): string {
  const at = library + places[kind];
  const other = holder.of.artifact.main.path;
  return kind === 'prompt'
    ? `The name ${at}${name} is taken by ${other}, so this prompt is called ${at}${address}: give it a name of its own.`
    : `The address ${at}${name} is taken by ${other}, so this ${kind} is at ${at}${address}: give it a name of its own.`;
}

function artifactRow(
  { name, files, of: { artifact, parsed } }: Claim<Claimed>,
  address: string,
  tell: Tell,
): ArtifactRow {
  const { kind, group, folder, main, mainName } = artifact;
  const why = [...parsed.unadvertised, ...(kind === 'skill' ? tooMuch(files) : [])];
  if (why.length > 0) {
    const message = `The skill can be read at its address, but clients that hold to the specification refuse it: ${why.join('; ')}.`;
    tell('NotAdvertised', main.path, message, parsed.line);
  }
  return {
    row: 'artifact',
    kind,
    address,
    name,
    version: parsed.version,
    ...(group === undefined ? {} : { group }),
    folder,
    ...(parsed.title === undefined || parsed.title === name ? {} : { title: parsed.title }),
    description: parsed.description,
    tags: parsed.tags,
    ...(parsed.frontmatter === undefined ? {} : { frontmatter: parsed.frontmatter }),
    advertised: why.length === 0,
    ...(parsed.prompt === undefined ? {} : { prompt: parsed.prompt }),
    main: mainName,
    files,
  };
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
