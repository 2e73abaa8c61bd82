// From what was selected and read to the rows of a catalogue: names, addresses, rivals, rejections, counts. Pure.
import { byCodePoint, isSkillName, slug } from '../../catalogue/names.ts';
import { compareProblems, type Problem, type ProblemReason, problem } from '../../catalogue/problem.ts';
import { Slices } from '../../catalogue/slices.ts';
import type { ArtifactRow, Counts, FileRow, PackFileRow, ProblemRow } from '../../catalogue/source-catalogue.ts';
import { joinPath, nameOf } from '../source/path.ts';
import { sorted } from '../source/sorted.ts';
import type { KnownContent } from './content.ts';
import type { SelectedFile } from './find-files.ts';
import { mediaTypeOf } from './media-type.ts';
import { type Contents, realPathOf } from './read-contents.ts';
import { type Claim, settleRivals } from './rivals.ts';
import type { HarvestRules } from './rules.ts';
import type { SelectedSkill, Selection } from './selection.ts';
import type { ParsedSkill } from './skill.ts';

export interface Assembled {
  /** By address. */
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

/** What a skill may hold and still be advertised: clients fetch it whole. */
const advertisedFiles = 512;
const advertisedSize = 16 * 1024 * 1024;

export async function assemble(
  selection: Selection,
  contents: Contents,
  { library, source }: Pick<HarvestRules, 'library' | 'source'>,
  found: readonly Problem[],
): Promise<Assembled> {
  const slices = new Slices();
  const problems: Problem[] = [...found, ...selection.problems];
  const contentAt = (file: SelectedFile): KnownContent | undefined => contents.byRealPath.get(realPathOf(file.entry));
  const told = new Set<string>();
  const tell = (reason: ProblemReason, path: string, message: string, line?: number): void => {
    const key = `${reason} ${path} ${line}`;
    if (told.has(key)) return;
    told.add(key);
    problems.push(problem(reason, path, message, line));
  };

  const claims: Claim<SkillClaim>[] = [];
  let rejected = selection.rejected;
  for (const skill of selection.skills) {
    const claim = claimOf(skill, contents, library, tell);
    if (claim === undefined) rejected++;
    else claims.push({ ...claim, files: rowsOf(skill.files, contentAt, tell), lost: lostOf(skill.files, contentAt) });
    if (slices.over) await slices.turn();
  }
  const settled = await settleRivals(claims, source, slices);
  for (const { claim, like } of settled.duplicates) {
    if (slices.over) await slices.turn();
    tell(
      'Duplicate',
      claim.of.skill.main.path,
      `The same, byte for byte, is served from ${like.of.skill.main.path}: remove one.`,
    );
  }
  for (const { claim, address, holder } of settled.moved) {
    if (slices.over) await slices.turn();
    tell(
      'Moved',
      claim.of.skill.main.path,
      `The address ${library}/${claim.name} is taken by ${holder.of.skill.main.path}, so this skill is at ${library}/${address}: give it a name of its own.`,
    );
  }
  const served: ArtifactRow[] = [];
  for (const { claim, address } of settled.served) {
    served.push(artifactRow(claim, address, tell));
    if (slices.over) await slices.turn();
  }
  const artifacts = await sorted(served, (a, b) => byCodePoint(a.address, b.address), slices);

  const addresses = new Set(artifacts.map(({ address }) => address));
  const files: PackFileRow[] = [];
  for (const file of selection.files) {
    const taken = addressAbove(file.path, addresses);
    if (taken !== undefined) {
      const message = `The skill at ${library}/${taken} has this address, so the file is rejected: rename it or its folder.`;
      tell('AddressTaken', file.entry.path, message);
      continue;
    }
    for (const row of rowsOf([file], contentAt, tell)) files.push({ row: 'file', ...row });
    if (slices.over) await slices.turn();
  }

  const counts: Counts = {
    skills: artifacts.length,
    prompts: 0,
    rules: 0,
    profiles: 0,
    files: files.length,
    discovered: selection.skills.length + selection.rejected,
    duplicates: settled.duplicates.length,
    rejected,
    problems: problems.length,
  };
  const worstFirst = await sorted(problems, compareProblems, slices);
  const rows = worstFirst.slice(0, mostProblems).map((one): ProblemRow => ({ row: 'problem', ...one }));
  return { artifacts, files, problems: rows, counts, ...(await sizeOf(artifacts, files, slices)) };
}

/** What a skill claims, before rivals are settled. */
interface SkillClaim {
  skill: SelectedSkill;
  parsed: ParsedSkill;
}

type Tell = (reason: ProblemReason, path: string, message: string, line?: number) => void;

/** @returns undefined for a skill that is rejected */
function claimOf(
  skill: SelectedSkill,
  contents: Contents,
  library: string,
  tell: Tell,
): Omit<Claim<SkillClaim>, 'files' | 'lost'> | undefined {
  const path = skill.main.path;
  const content = contents.byRealPath.get(realPathOf(skill.main))!;
  if ('tooLarge' in content) {
    tell('TooLarge', path, tooLarge(content.tooLarge));
    return undefined;
  }
  const parsed = contents.parsed.get(content.digest)!;
  for (const { reason, message, line } of parsed.findings) tell(reason, path, message, line);
  if (parsed.rejected !== undefined) {
    tell(parsed.rejected.reason, path, parsed.rejected.message, parsed.rejected.line);
    return undefined;
  }
  const own = skill.relativeFolder === '' ? library : nameOf(skill.relativeFolder);
  const name = parsed.name ?? (isSkillName(own) ? own : slug(own, longestName));
  if (name === '') {
    tell(
      'BadFileName',
      path,
      'Neither the frontmatter nor the folder gives a name, so the skill is rejected: write `name`.',
    );
    return undefined;
  }
  if (parsed.name === undefined && name !== own) {
    tell(
      'NameMended',
      path,
      `The folder's name is no skill name, so the skill is called ${name}: write \`name: ${name}\`.`,
    );
  }
  return { name, folder: skill.relativeFolder, of: { skill, parsed } };
}

function artifactRow(
  { name, files, of: { skill, parsed } }: Claim<SkillClaim>,
  address: string,
  tell: Tell,
): ArtifactRow {
  const size = files.reduce((sum, file) => sum + file.size, 0);
  const why = [...parsed.unadvertised];
  if (files.length > advertisedFiles) why.push(`it has more than ${advertisedFiles} files`);
  if (size > advertisedSize) why.push(`it has more than ${advertisedSize / 1024 / 1024} MiB`);
  if (why.length > 0) {
    const message = `The skill can be read at its address, but clients that hold to the specification refuse it: ${why.join('; ')}.`;
    tell('NotAdvertised', skill.main.path, message, parsed.line);
  }
  return {
    row: 'artifact',
    kind: 'skill',
    address,
    name,
    version: parsed.version,
    ...(skill.group === undefined ? {} : { group: skill.group }),
    folder: skill.relativeFolder,
    description: parsed.description,
    tags: parsed.tags,
    ...(parsed.frontmatter === undefined ? {} : { frontmatter: parsed.frontmatter }),
    advertised: why.length === 0,
    main: 'SKILL.md',
    files,
  };
}

/** The rows of the files that can be served, with a problem for each that cannot. */
function rowsOf(
  files: readonly SelectedFile[],
  contentAt: (file: SelectedFile) => KnownContent | undefined,
  tell: Tell,
): FileRow[] {
  const rows: FileRow[] = [];
  for (const file of files) {
    const content = contentAt(file)!;
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
const lostOf = (files: readonly SelectedFile[], contentAt: (file: SelectedFile) => KnownContent | undefined): string =>
  files
    .filter((file) => 'tooLarge' in contentAt(file)!)
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

/** A file in the manifests of several skills, one inside the other, is one file. */
async function sizeOf(
  artifacts: readonly ArtifactRow[],
  files: readonly PackFileRow[],
  slices: Slices,
): Promise<{ size: number; fileCount: number }> {
  const seen = new Set<string>();
  let total = files.reduce((sum, { size }) => sum + size, 0);
  for (const { folder, files: own } of artifacts) {
    for (const { path, size } of own) {
      const whole = joinPath(folder, path);
      if (!seen.has(whole)) total += size;
      seen.add(whole);
    }
    if (slices.over) await slices.turn();
  }
  return { size: total, fileCount: seen.size + files.length };
}
