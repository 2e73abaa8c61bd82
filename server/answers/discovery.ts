// The discovery index: every skill that is told of, under a name that is one skill's alone, with where to fetch it and the
// digest of what comes (Agent Skills discovery 0.2.0).
import { createHash } from 'node:crypto';
import { listedUri } from '../../catalogue/address.ts';
import type { ArtifactRow } from '../../catalogue/source-catalogue.ts';
import { type Artifact, mainFile } from '../snapshot/snapshot.ts';
import type { View } from '../view.ts';
import { advertisedSkills } from './skills.ts';

/** By it clients know how to read an index. */
export const discoverySchema = 'https://schemas.agentskills.io/discovery/0.2.0/schema.json';

/** `skill://index.json`, where drafts of the Skills extension have the index. It reads, and is not listed. */
export const indexName = 'index.json';

export interface DiscoveryEntry {
  name: string;
  /** One SKILL.md, or an archive of all files. */
  type: 'skill-md' | 'archive';
  description: string;
  url: string;
  /** Of the bytes at `url`. */
  digest: string;
}

/** As many characters as clients take. */
const longestName = 64;
const longestDescription = 1024;

/**
 * Names are bare where one skill has them in this view; of several, all get a part of the digest of their address.
 * Sorted by address.
 */
export function discoveryNames(view: View): ReadonlyMap<string, Artifact> {
  const known = remembered.get(view);
  if (known !== undefined) return known;
  const names = namesOf(advertisedSkills(view));
  remembered.set(view, names);
  return names;
}

const remembered = new WeakMap<View, ReadonlyMap<string, Artifact>>();

function namesOf(skills: readonly Artifact[]): Map<string, Artifact> {
  const counts = new Map<string, number>();
  for (const { row } of skills) counts.set(row.name, (counts.get(row.name) ?? 0) + 1);
  const bare = new Set([...counts].filter(([, count]) => count === 1).map(([name]) => name));
  const names = new Map<string, Artifact>();
  for (const skill of skills) {
    const { name } = skill.row;
    names.set(
      bare.has(name) ? name : longName(name, skill.qualified, (made) => bare.has(made) || names.has(made)),
      skill,
    );
  }
  return names;
}

/** More of the digest where a skill of another name is called so: nobody can take a name from somebody else. */
function longName(name: string, qualified: string, isTaken: (made: string) => boolean): string {
  const digest = createHash('sha256').update(qualified).digest('hex');
  for (let digits = 8; ; digits += 8) {
    const made = `${name.slice(0, longestName - digits - 1).replace(/-$/, '')}-${digest.slice(0, digits)}`;
    if (!isTaken(made) || digits === 56) return made;
  }
}

/** What an index says of a skill, in as many UTF-16 units as clients count. */
export function discoveryDescription({ description }: ArtifactRow): string {
  if (description.length <= longestDescription) return description;
  const cut = description.slice(0, longestDescription - 1);
  return `${cut.isWellFormed() ? cut : cut.slice(0, -1)}…`;
}

export const isOneFile = ({ files }: ArtifactRow): boolean => files.length === 1;

/** The body of `skill://index.json`: each skill's SKILL.md, beside which its other files are read. */
export function skillIndexBody(view: View): string {
  const skills: DiscoveryEntry[] = [];
  for (const [name, { qualified, row }] of discoveryNames(view)) {
    skills.push({
      name,
      type: 'skill-md',
      description: discoveryDescription(row),
      url: listedUri(`${qualified}/SKILL.md`),
      digest: mainFile(row)!.digest,
    });
  }
  return JSON.stringify({ $schema: discoverySchema, skills });
}
