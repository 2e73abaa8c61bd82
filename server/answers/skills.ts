// Skills as the Skills extension has them (SEP-2640): an entry each, with its frontmatter and every file's digest and size.
import { addressScheme, listedUri } from '../../catalogue/address.ts';
import { type Artifact, byAscii } from '../snapshot/snapshot.ts';
import type { View } from '../view.ts';
import { type PageOf, pageOf } from './page.ts';

/** The extension's key in `capabilities.extensions`. */
export const skillsExtension = 'io.modelcontextprotocol/skills';

export interface SkillEntry {
  uri: string;
  /** Field by field what a YAML 1.2 core reader finds in SKILL.md, since hosts compare it with that. */
  frontmatter: Record<string, unknown>;
  /** Every file once, SKILL.md among them. */
  resources: { uri: string; digest: string; size: number }[];
}

const mainName = 'SKILL.md';

/** The skills that clients are told of: those that conform, so that no client has to refuse one. Sorted by address. */
export function advertisedSkills(view: View): readonly Artifact[] {
  const known = advertised.get(view);
  if (known !== undefined) return known;
  const skills = view.skills.filter(({ row }) => row.advertised);
  advertised.set(view, skills);
  return skills;
}

const advertised = new WeakMap<View, readonly Artifact[]>();

/**
 * One page of `skills/list`.
 * @throws BadCursor
 */
export function skillsPage(view: View, cursor: string | undefined): PageOf<SkillEntry> {
  const skills = advertisedSkills(view);
  return pageOf(
    'k',
    {
      length: skills.length,
      keyAt: (index) => skills[index]!.qualified,
      rowAt: (index) => entryOf(skills[index]!).entry,
      bytesAt: (index) => entryOf(skills[index]!).bytes,
      compare: byAscii,
    },
    cursor,
  );
}

/** The entry of the advertised skill whose SKILL.md has this URI, word for word; undefined for whatever is no such, or not visible. */
export function skillEntry(view: View, uri: string): SkillEntry | undefined {
  const skill = skillOfMain(view, uri);
  return skill?.row.advertised === true ? entryOf(skill).entry : undefined;
}

/** The visible skill whose SKILL.md has this URI, whether clients are told of it or not. */
export function skillOfMain(view: View, uri: string): Artifact | undefined {
  if (!uri.startsWith(addressScheme) || !uri.endsWith(`/${mainName}`)) return undefined;
  const qualified = uri.slice(addressScheme.length, -mainName.length - 1);
  const slash = qualified.indexOf('/');
  if (slash === -1) return undefined;
  const skill = view.snapshot.libraries
    .get(qualified.slice(0, slash))
    ?.shelves.skill.at.get(qualified.slice(slash + 1));
  return skill !== undefined && view.sees(skill) ? skill : undefined;
}

interface Measured {
  entry: SkillEntry;
  /** Of its JSON. */
  bytes: number;
}

/** Made once for each skill: snapshots share their skills while nothing changes. */
const entries = new WeakMap<Artifact, Measured>();

function entryOf(skill: Artifact): Measured {
  const known = entries.get(skill);
  if (known !== undefined) return known;
  const { qualified, row } = skill;
  const entry = {
    uri: listedUri(`${qualified}/${mainName}`),
    frontmatter: row.frontmatter ?? {},
    resources: row.files.map(({ path, digest, size }) => ({ uri: listedUri(`${qualified}/${path}`), digest, size })),
  };
  const made = { entry, bytes: Buffer.byteLength(JSON.stringify(entry)) };
  entries.set(skill, made);
  return made;
}
