// A versions.json as openkata writes it: which artifacts have versions. It says where to look, and is never content. Pure.
import type { ArtifactKind } from '../../catalogue/source-catalogue.ts';
import type { KindList } from './kinds.ts';

/** Its name, at the root of what is harvested. */
export const versionsFileName = 'versions.json';

/** In bytes: one that is longer is not read. */
export const longestVersionsFile = 4 * 1024 * 1024;

/** The kinds that have versions: their lists in the file, their folders, and how a main file is called. */
export const versionedKinds = [
  { kind: 'skill', list: 'skills', mainFor: () => 'SKILL.md' },
  { kind: 'rule', list: 'rules', mainFor: () => 'RULE.md' },
  { kind: 'profile', list: 'profiles', mainFor: (name) => `${name}.md` },
] as const satisfies readonly { kind: ArtifactKind; list: KindList; mainFor(name: string): string }[];

export type VersionedKind = (typeof versionedKinds)[number];

/** By list and by the name of the artifact's folder: the version that it is said to have, where one is said. */
export type NamedVersions = ReadonlyMap<KindList, ReadonlyMap<string, string | undefined>>;

/** @returns undefined where the bytes are no JSON object; what is in it and nobody knows is passed over */
export function readVersionsFile(bytes: Buffer): NamedVersions | undefined {
  let content: unknown;
  try {
    content = JSON.parse(bytes.toString('utf8').replace(/^\uFEFF/, ''));
  } catch {
    return undefined;
  }
  if (!isObject(content)) return undefined;
  const named = new Map<KindList, Map<string, string | undefined>>();
  for (const { list } of versionedKinds) {
    const artifacts = Object.hasOwn(content, list) ? content[list] : undefined;
    if (!isObject(artifacts)) continue;
    const entries = Object.entries(artifacts).filter(([, artifact]) => isObject(artifact));
    named.set(list, new Map(entries.map(([name, artifact]) => [name, versionOf(artifact as object)])));
  }
  return named;
}

function versionOf(artifact: object): string | undefined {
  const version = 'version' in artifact ? artifact.version : undefined;
  return typeof version === 'string' && version !== '' ? version : undefined;
}

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);
