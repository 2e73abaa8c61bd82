// Repositories that a marketplace points at: which one it is, and what a SkillSource for it says. Pure.

export interface Repository {
  /** With the port, where one of HTTP is written. */
  host: string;
  /** Without slashes at the ends and without `.git`. */
  path: string;
}

/** In characters: also what `spec.url` may have. */
const longestUrl = 2048;

const longestPart = 200;

/** The repository of a URL as git, marketplaces or `spec.url` write it; undefined for anything else, a local path too. */
export function repositoryOf(url: string): Repository | undefined {
  if (url.length > longestUrl) return undefined;
  const github = /^github:\/\/([^/]+\/[^/]+)$/.exec(url);
  if (github !== null) return named('github.com', github[1]!);
  const web = /^(?:git\+)?https?:\/\/(?:[^/@]*@)?([^/@?#]+)\/+([^?#]+)/.exec(url);
  if (web !== null) return named(web[1]!, web[2]!);
  const other = /^(?:git\+)?(?:ssh|git):\/\/(?:[^/@]*@)?([^/@?#]+?)(?::[0-9]+)?\/+([^?#]+)/.exec(url);
  if (other !== null) return named(other[1]!, other[2]!);
  const short = /^[^/@:]+@([^/:]+):([^?#]+)$/.exec(url);
  return short === null ? undefined : named(short[1]!, short[2]!);
}

function named(host: string, path: string): Repository {
  const lower = host.toLowerCase();
  const plain = path
    .replace(/\/+$/, '')
    .replace(/\.git$/, '')
    .replace(/^\/+/, '');
  return { host: lower, path: plain };
}

/** GitHub does not tell upper and lower case apart. */
export function isSame(a: Repository, b: Repository): boolean {
  if (a.host !== b.host) return false;
  return a.path === b.path || (a.host === 'github.com' && a.path.toLowerCase() === b.path.toLowerCase());
}

/** What to write into a SkillSource, or nothing where that would repeat what is not plain. */
export function sourceAddress({ host, path }: Repository, folder: string, ref: string): string | undefined {
  if (folder.length > longestUrl) return undefined;
  const url = host === 'github.com' ? `github://${path}` : `git+https://${host}/${path}`;
  const subdirectory = folder.replace(/^(?:\.?\/)+|\/+$/g, '').replace(/^\.$/, '');
  if (![url, subdirectory, ref].every((part) => part.length <= longestPart && /^[\w.~/:+-]*$/.test(part)))
    return undefined;
  const more = [
    ...(subdirectory === '' ? [] : [`subdirectory: ${subdirectory}`]),
    ...(ref === '' ? [] : [`ref: ${ref}`]),
  ];
  return [`url: ${url}`, ...more].join(', ');
}
