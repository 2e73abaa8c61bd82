// A marketplace.json or plugin.json: the plugins it names, each inside this source or somewhere else. Pure.
import { posix } from 'node:path';
import { isWithin } from '../source/path.ts';
import { isSame, type Repository, repositoryOf, sourceAddress } from './elsewhere.ts';

/** Folders at a source's root in which clients keep the manifests of plugins, and the root itself. */
const manifestFolders = [
  '',
  '.claude-plugin/',
  '.agents/plugins/',
  '.codex-plugin/',
  '.cursor-plugin/',
  '.github/plugin/',
];

/** In the order in which they are heard. */
export const manifestPaths: readonly string[] = manifestFolders.flatMap((folder) => [
  `${folder}marketplace.json`,
  `${folder}plugin.json`,
]);

/** In bytes: a manifest that is longer is not read. */
export const longestManifest = 1024 * 1024;

/** Where a plugin is. */
export type PluginPlace =
  /** `path`: of its folder, below the base of the manifest or, where nothing is there, below `otherwise`. */
  | { at: 'inside'; path: string; otherwise?: string }
  | { at: 'outside' }
  /** `address`: what a SkillSource for it says, where that can be told. */
  | { at: 'elsewhere'; address: string | undefined };

export interface PluginEntry {
  name: string;
  /** Undefined where the entry says none that can be understood. */
  place: PluginPlace | undefined;
  /** What it lists of its folder: paths of skills, or of folders that hold them. Empty: whatever is there. */
  skills: string[];
}

/** Where the manifest itself is: what it says of this repository is written from the repository's root. */
export interface Here {
  repository: Repository | undefined;
  subdirectory: string;
}

/** @returns undefined where the bytes are no manifest of plugins */
export function readManifest(path: string, bytes: Buffer, here: Here): PluginEntry[] | undefined {
  let content: unknown;
  try {
    content = JSON.parse(bytes.toString('utf8').replace(/^\uFEFF/, ''));
  } catch {
    return undefined;
  }
  if (!isObject(content)) return undefined;
  if (path.endsWith('plugin.json')) {
    return [{ name: textOf(content.name), place: { at: 'inside', path: '' }, skills: textsOf(content.skills) }];
  }
  if (!Array.isArray(content.plugins)) return undefined;
  const metadata = isObject(content.metadata) ? content.metadata : {};
  const base = textOf(metadata.pluginRoot);
  return content.plugins.map((entry): PluginEntry => {
    if (!isObject(entry)) return { name: '', place: undefined, skills: [] };
    return {
      name: textOf(entry.name),
      place: placeOf(entry.source, base, here),
      skills: textsOf(entry.skills),
    };
  });
}

function placeOf(source: unknown, base: string, here: Here): PluginPlace | undefined {
  if (typeof source === 'string') {
    if (repositoryOf(source) === undefined) return relative(source, base);
    return remote({ url: source }, here);
  }
  if (!isObject(source)) return undefined;
  const { source: kind } = source;
  if (kind === 'local') return relative(textOf(source.path), base);
  if (kind === 'github') return remote({ ...source, url: `https://github.com/${textOf(source.repo)}` }, here);
  const url = textOf(source.url);
  if (/^\.{1,2}(?:\/|$)/.test(url)) return relative(url, base);
  return url === '' ? { at: 'elsewhere', address: undefined } : remote(source, here);
}

/** A path that a manifest writes: relative to its base, `./` in front or not. */
function relative(written: string, base: string): PluginPlace | undefined {
  if (written === '') return undefined;
  const plain = inside('', written);
  if (base === '') return plain === undefined ? { at: 'outside' } : { at: 'inside', path: plain };
  const below = inside(base, written);
  if (below === undefined) return { at: 'outside' };
  return { at: 'inside', path: below, ...(plain === undefined ? {} : { otherwise: plain }) };
}

/** In characters: no tree has longer paths, whatever stands between their parts. */
const longestPath = 4096;

/** The normalised path of something below a folder; undefined where it leads out of the source. */
export function inside(folder: string, written: string): string | undefined {
  if (folder.length + written.length > longestPath || written.startsWith('/') || /[\\\0\n]/.test(written))
    return undefined;
  const path = posix.normalize(`${folder === '' ? '.' : folder}/${written}`).replace(/\/+$/, '');
  if (path === '..' || path.startsWith('../') || path.startsWith('/')) return undefined;
  return path === '.' ? '' : path;
}

function remote(source: Record<string, unknown>, here: Here): PluginPlace {
  const there = repositoryOf(textOf(source.url));
  const path = textOf(source.path);
  const { repository, subdirectory } = here;
  if (there !== undefined && repository !== undefined && isSame(there, repository)) {
    const folder = inside('', path === '' ? '.' : path);
    if (folder === undefined || !isWithin(folder, subdirectory)) return { at: 'outside' };
    return { at: 'inside', path: subdirectory === '' ? folder : folder.slice(subdirectory.length + 1) };
  }
  const ref = textOf(source.sha) || textOf(source.ref);
  return { at: 'elsewhere', address: there && sourceAddress(there, path, ref) };
}

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

const textOf = (value: unknown): string => (typeof value === 'string' ? value.trim() : '');

const textsOf = (value: unknown): string[] =>
  (Array.isArray(value) ? value : [value]).filter((item) => typeof item === 'string' && item !== '');
