// What a discovery index names: files and archives to fetch, each with its place in the tree. In the form of version 0.2.0
// (`type`, `url`, `digest`) and in the one before (`files`), as the `skills` program takes them.
import { UpstreamFault } from '../fault.ts';
import type { Pace } from '../pace.ts';
import type { RawIndex } from './read-index.ts';

export interface PublishedDocument {
  /** `file`: one file. `archive`: the files of a skill. */
  kind: 'file' | 'archive';
  /** In the tree: of the file, or of the folder that the archive fills. */
  path: string;
  url: string;
  /** `sha256:<hex>` of what comes from `url`; without one only fetching it tells whether it has changed. */
  digest?: string;
}

/** Why something of an index is left out. Nothing of what the publisher wrote is repeated but names that are valid. */
export interface Remark {
  reason: 'BadEntry' | 'BadFileName';
  path: string;
  message: string;
}

export interface Published {
  documents: PublishedDocument[];
  remarks: Remark[];
}

const schemas = 'https://schemas.agentskills.io/discovery/';
const knownSchema = `${schemas}0.2.0/schema.json`;
const skillName = /^(?=.{1,64}$)[a-z0-9]+(-[a-z0-9]+)*$/;
const digestPattern = /^sha256:[0-9a-f]{64}$/;
const archiveName = /\.(zip|tar\.gz|tgz)$/i;
const longestUrl = 4096;
/** One index says so much of itself; what is beyond is counted. */
const mostRemarks = 200;

/**
 * @param index where the index is; URLs in it are relative to that
 * @param origins that an entry may be fetched from
 * @throws UpstreamFault UpstreamInvalid for an index of a form that is not known
 */
export async function documentsOf(
  { schema, skills }: Pick<RawIndex, 'schema' | 'skills'>,
  index: URL,
  origins: ReadonlySet<string>,
  pace: Pace,
): Promise<Published> {
  if (schema !== undefined && schema !== knownSchema) {
    throw new UpstreamFault(
      'UpstreamInvalid',
      `${index.host} publishes an index of a form that this version does not know; it knows discovery 0.2.0 and 0.1.0`,
    );
  }
  const documents: PublishedDocument[] = [];
  const remarks: Remark[] = [];
  const names = new Set<string>();
  let more = 0;
  const remark = (one: Remark): void => {
    if (remarks.length < mostRemarks) remarks.push(one);
    else more += 1;
  };
  for (const [at, value] of skills.entries()) {
    await pace();
    const entry: Record<string, unknown> = typeof value === 'object' && value !== null ? { ...value } : {};
    const { name } = entry;
    if (typeof name !== 'string' || !skillName.test(name)) {
      const message = `Entry ${at + 1} of the index is left out, since it has no valid name.`;
      remark({ reason: 'BadEntry', path: 'index.json', message });
      continue;
    }
    const path = `skills/${name}`;
    const bad = (why: string): void =>
      remark({ reason: 'BadEntry', path, message: `Entry ${at + 1} of the index is left out, since ${why}.` });
    if (names.has(name)) {
      bad('one before it has the same name');
      continue;
    }
    const found = 'url' in entry ? oneDocument(entry, path, index, origins) : itsFiles(entry, path, index, remark);
    if (typeof found === 'string') {
      bad(found);
      continue;
    }
    names.add(name);
    documents.push(...found);
  }
  if (more > 0) {
    const message = `${more} more entries and files of the index are left out.`;
    remarks.push({ reason: 'BadEntry', path: 'index.json', message });
  }
  return { documents, remarks };
}

/** The document of an entry of version 0.2.0, or why there is none. */
function oneDocument(
  { url: written, type, digest }: Record<string, unknown>,
  path: string,
  index: URL,
  origins: ReadonlySet<string>,
): PublishedDocument[] | string {
  const url = typeof written === 'string' && written.length <= longestUrl ? URL.parse(written, index.href) : null;
  if (url === null || !/^https?:$/.test(url.protocol)) return 'its url is no web address';
  if (url.username !== '' || url.password !== '') return 'its url holds credentials';
  if (!origins.has(url.origin))
    return 'its url leads to another server: ask the publisher, or write a SkillSource for that';
  url.hash = '';
  if (digest !== undefined && (typeof digest !== 'string' || !digestPattern.test(digest))) {
    return 'its digest is not sha256: and 64 hex digits';
  }
  const pinned = digest === undefined ? {} : { digest };
  switch (type ?? (archiveName.test(url.pathname) ? 'archive' : 'skill-md')) {
    case 'skill-md':
      return [{ kind: 'file', path: `${path}/SKILL.md`, url: url.href, ...pinned }];
    case 'archive':
      return [{ kind: 'archive', path, url: url.href, ...pinned }];
    default:
      return 'its type is neither skill-md nor archive';
  }
}

/** The documents of an entry of version 0.1.0, which stand beside the index, or why there are none. */
function itsFiles(
  { files }: Record<string, unknown>,
  path: string,
  index: URL,
  remark: (one: Remark) => void,
): PublishedDocument[] | string {
  if (!Array.isArray(files)) return 'it has neither a url nor a list of files';
  const isMain = (file: unknown): boolean => typeof file === 'string' && file.toLowerCase() === 'skill.md';
  if (!files.some(isMain)) return 'its list of files has no SKILL.md';
  const folder = new URL(`${path.slice('skills/'.length)}/`, index.href);
  const paths = new Set(['SKILL.md']);
  for (const [at, file] of files.entries()) {
    if (isMain(file)) continue;
    if (isRelative(file)) paths.add(file);
    else {
      const message = `File ${at + 1} of this skill in the index is left out: its path is not one below the skill.`;
      remark({ reason: 'BadFileName', path, message });
    }
  }
  return [...paths].map((file) => ({
    kind: 'file',
    path: `${path}/${file}`,
    url: new URL(file.split('/').map(encodeURIComponent).join('/'), folder).href,
  }));
}

const isRelative = (path: unknown): path is string =>
  typeof path === 'string' &&
  path.isWellFormed() &&
  path.length <= 1024 &&
  !/[\p{Cc}\\]/u.test(path) &&
  path.split('/').every((part) => part !== '' && part !== '.' && part !== '..');
