// A versions.json as openkata writes it: which artifacts have versions. It says where to look, and is never content.
import { JSONParser, TokenType } from '@streamparser/json';
import type { Slices } from '../../catalogue/slices.ts';
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

const deepest = 32;
const parsedAtOnce = 16 * 1024;

/**
 * Read in pieces, since whoever writes a source writes this too. What is in it and nobody knows is passed over.
 * @returns undefined where the bytes are no JSON object
 */
export async function readVersionsFile(bytes: Buffer, slices: Slices): Promise<NamedVersions | undefined> {
  const named = new Map<KindList, Map<string, string | undefined>>(versionedKinds.map(({ list }) => [list, new Map()]));
  const parser = new JSONParser({ paths: versionedKinds.map(({ list }) => `$.${list}.*`), keepStack: false });
  let depth = 0;
  let hasBegun = false;
  parser.onToken = ({ token }) => {
    if (!hasBegun && token !== TokenType.LEFT_BRACE) throw new Error('no object');
    hasBegun = true;
    if (token === TokenType.LEFT_BRACE || token === TokenType.LEFT_BRACKET) depth += 1;
    if (token === TokenType.RIGHT_BRACE || token === TokenType.RIGHT_BRACKET) depth -= 1;
    if (depth > deepest) throw new Error('too deep');
  };
  parser.onValue = ({ key, value, stack }) => {
    const list = stack[1]?.key as KindList;
    if (typeof key === 'string' && isObject(value)) named.get(list)?.set(key, versionOf(value));
  };
  try {
    for (let at = 0; at < bytes.length; at += parsedAtOnce) {
      parser.write(bytes.subarray(at, at + parsedAtOnce));
      if (slices.over) await slices.turn();
    }
    if (!parser.isEnded) parser.end();
  } catch {
    return undefined;
  }
  return hasBegun && depth === 0 ? named : undefined;
}

function versionOf(artifact: object): string | undefined {
  const version = Object.hasOwn(artifact, 'version') ? (artifact as { version: unknown }).version : undefined;
  return typeof version === 'string' && version !== '' ? version : undefined;
}

const isObject = (value: unknown): value is object =>
  typeof value === 'object' && value !== null && !Array.isArray(value);
