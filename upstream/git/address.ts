// From `spec.url` to the address of a git repository, over HTTP or SSH.

export interface HttpAddress {
  ok: true;
  transport: 'http';
  /** The repository's base, without a slash at its end. */
  url: URL;
}

export interface SshAddress {
  ok: true;
  transport: 'ssh';
  user: string;
  /** A name or an address, without brackets. */
  host: string;
  port: number;
  /** On the server: `/team/pack.git`, or `~user/pack.git`. */
  path: string;
}

export type GitAddress = HttpAddress | SshAddress | { ok: false; message: string };

const refuse = (message: string): GitAddress => ({ ok: false, message });

/** `github://org/repo`, `git+https://…`, `git+http://…` and `git+ssh://…`. A message never repeats the URL, which may hold a credential. */
export function gitAddress(text: string): GitAddress {
  const [, scheme, rest] = /^(github|git\+https|git\+http|git\+ssh):\/\/(.*)$/s.exec(text) ?? [];
  if (scheme === undefined || rest === undefined) {
    return refuse('a git URL begins with github://, git+https://, git+http:// or git+ssh://');
  }
  const authority = rest.split(/[/?#]/, 1)[0] ?? '';
  if (scheme === 'git+ssh' ? /:.*@/.test(authority) : authority.includes('@')) {
    return refuse(
      'spec.url holds a user name or password; put credentials into a Secret and name it in spec.secretRef',
    );
  }
  if (/[?#]/.test(rest)) return refuse('a git URL has no query and no fragment; the branch or tag goes into spec.ref');
  if (scheme === 'git+ssh') return sshAddress(rest);
  if (scheme === 'github') {
    const [, organisation, repository] = /^([A-Za-z0-9._-]+)\/([A-Za-z0-9._-]+?)(?:\.git)?\/?$/.exec(rest) ?? [];
    if (organisation === undefined || repository === undefined || /^\.{1,2}$/.test(repository)) {
      return refuse('a GitHub address is github://ORGANISATION/REPOSITORY; a folder goes into spec.subdirectory');
    }
    return { ok: true, transport: 'http', url: new URL(`https://github.com/${organisation}/${repository}.git`) };
  }
  const url = URL.parse(`${scheme === 'git+https' ? 'https' : 'http'}://${rest}`);
  if (url === null || url.pathname === '/') return refuse('a git URL is git+https://HOST/PATH/TO/REPOSITORY');
  url.pathname = url.pathname.replace(/\/+$/, '');
  return { ok: true, transport: 'http', url };
}

const sshForm = 'a git URL over SSH is git+ssh://USER@HOST/PATH/TO/REPOSITORY, with :PORT behind the host where needed';

function sshAddress(rest: string): GitAddress {
  const [, user, host, port, path] =
    /^(?:([A-Za-z0-9._-]+)@)?([A-Za-z0-9.-]+|\[[0-9A-Fa-f:.]+\])(?::([0-9]{1,5}))?(\/.+)$/.exec(rest) ?? [];
  if (host === undefined || path === undefined || user?.startsWith('-') || Number(port) > 65_535 || port === '0') {
    return refuse(sshForm);
  }
  const decoded = decode(path.replace(/\/+$/, ''));
  if (decoded === undefined || decoded === '' || decoded.split('/').some((name) => name === '.' || name === '..')) {
    return refuse(sshForm);
  }
  return {
    ok: true,
    transport: 'ssh',
    user: user ?? 'git',
    host: host.replace(/^\[(.*)\]$/, '$1').toLowerCase(),
    port: port === undefined ? 22 : Number(port),
    path: decoded.startsWith('/~') ? decoded.slice(1) : decoded,
  };
}

/** @returns undefined for what no path of a file can be */
function decode(path: string): string | undefined {
  try {
    const decoded = decodeURIComponent(path);
    return /\p{Cc}/u.test(decoded) ? undefined : decoded;
  } catch {
    return undefined;
  }
}
