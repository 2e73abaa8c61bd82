// The listing: a row for each index, and on demand a row for each skill. Sorted, and given in pages.
import { listedUri } from '../../catalogue/address.ts';
import { type Artifact, byAscii, mainFile } from '../snapshot/snapshot.ts';
import type { View, VisibleLibrary } from '../view.ts';
import { cursorOf, keyOf } from './cursor.ts';
import { counted, inWords } from './words.ts';

export interface Row {
  uri: string;
  name: string;
  description: string;
  mimeType: string;
}

export interface Page {
  rows: Row[];
  nextCursor?: string;
}

interface KeyedRow {
  key: string;
  row: Row;
}

const pageRows = 250;
const pageBytes = 256 * 1024;

/**
 * One page of the listing: at most 250 rows or 256 KB, and at least one row.
 * @param full with a row for each visible skill behind the indexes
 * @throws BadCursor
 */
export function listPage(view: View, full: boolean, cursor?: string): Page {
  const indexes = indexRows(view);
  const skills = full ? view.skills : [];
  const behind = cursor === undefined ? '' : keyOf(cursor, keyShape);
  const page: Row[] = [];
  let bytes = 0;
  for (let at = firstBehind(indexes, skills, behind); at < indexes.length + skills.length; at++) {
    const { row } = rowAt(indexes, skills, at);
    bytes += Buffer.byteLength(JSON.stringify(row)) + 1;
    if (page.length === pageRows || (bytes > pageBytes && page.length > 0)) {
      return { rows: page, nextCursor: cursorOf(rowAt(indexes, skills, at - 1).key) };
    }
    page.push(row);
  }
  return { rows: page };
}

/** The whole default listing. */
export const defaultRows = (view: View): Row[] => indexRows(view).map(({ row }) => row);

// Keys sort as the rows do: the indexes by library, index, groups, files, rules, profiles; then the skills by qualified address.
const keyShape = /^(d\0[^\0]+\0([0234]|1\0[^\0]+)|s\0[^\0]+)$/;
const keyFrom = (...parts: string[]): string => parts.join('\0');
const skillKey = (skill: Artifact): string => keyFrom('s', skill.qualified);

function rowAt(indexes: readonly KeyedRow[], skills: readonly Artifact[], at: number): KeyedRow {
  if (at < indexes.length) return indexes[at]!;
  const skill = skills[at - indexes.length]!;
  return { key: skillKey(skill), row: skillRow(skill) };
}

function firstBehind(indexes: readonly KeyedRow[], skills: readonly Artifact[], behind: string): number {
  let low = 0;
  let high = indexes.length + skills.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    const key = middle < indexes.length ? indexes[middle]!.key : skillKey(skills[middle - indexes.length]!);
    if (key > behind) high = middle;
    else low = middle + 1;
  }
  return low;
}

function skillRow({ qualified, row }: Artifact): Row {
  const name = `${qualified}/SKILL.md`;
  const mimeType = mainFile(row)?.mediaType ?? 'text/markdown';
  return { uri: listedUri(name), name, description: row.description, mimeType };
}

const remembered = new WeakMap<View, readonly KeyedRow[]>();

function indexRows(view: View): readonly KeyedRow[] {
  const known = remembered.get(view);
  if (known !== undefined) return known;
  const rows = makeIndexRows(view);
  remembered.set(view, rows);
  return rows;
}

function makeIndexRows(view: View): KeyedRow[] {
  const rows: KeyedRow[] = [];
  const add = (key: string, address: string, description: string): void => {
    rows.push({ key, row: { uri: listedUri(address), name: address, description, mimeType: 'text/markdown' } });
  };
  const listedGroups = new Set<string>();
  for (const name of [...view.libraries.keys()].sort(byAscii)) {
    const visible = view.libraries.get(name)!;
    const groups = groupsOf(view, visible);
    if (visible.artifacts.skill.length > 0) add(keyFrom('d', name, '0'), name, libraryDescription(visible, groups));
    for (const group of groups) {
      if (listedGroups.has(group)) continue;
      listedGroups.add(group);
      add(keyFrom('d', name, '1', group), group, groupDescription(view.groups.get(group)!));
    }
    if (visible.files.length > 0) {
      const files = counted(visible.files.length, 'file');
      add(keyFrom('d', name, '2'), `${name}/_files`, `${files} of the ${name} pack outside its skills.`);
    }
    const { rule, profile } = visible.artifacts;
    if (rule.length > 0) {
      add(keyFrom('d', name, '3'), `${name}/_rules`, `${counted(rule.length, 'rule')} of the ${name} pack.`);
    }
    if (profile.length > 0) {
      add(keyFrom('d', name, '4'), `${name}/_profiles`, `${counted(profile.length, 'profile')} of the ${name} pack.`);
    }
  }
  return rows;
}

function groupsOf(view: View, { artifacts }: VisibleLibrary): string[] {
  const groups = new Set<string>();
  for (const { row } of artifacts.skill)
    if (row.group !== undefined && view.groups.has(row.group)) groups.add(row.group);
  return [...groups].sort(byAscii);
}

function libraryDescription({ library, artifacts }: VisibleLibrary, groups: readonly string[]): string {
  const grouping = groups.length === 0 ? '' : ` in ${counted(groups.length, 'group')}: ${groups.join(', ')}`;
  const contents = `${counted(artifacts.skill.length, 'skill')}${grouping}.`;
  const { name, title, description } = library;
  if (title === undefined && description === undefined) return `The ${name} pack — ${contents}`;
  return `${title ?? name}: ${contents}${description === undefined ? '' : ` ${description}`}`;
}

function groupDescription(skills: readonly Artifact[]): string {
  const libraries = [...new Set(skills.map(({ from }) => from.library))].sort(byAscii);
  return `${counted(skills.length, 'skill')} in the ${inWords(libraries)} ${libraries.length === 1 ? 'pack' : 'packs'}.`;
}
