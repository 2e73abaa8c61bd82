// From `spec.url` to the address of a git repository over HTTP.

export type GitAddress = { ok: true; url: URL } | { ok: false; message: string };

const refuse = (message: string): GitAddress => ({ ok: false, message });

/**
 * `github://org/repo`, `git+https://…` and `git+http://…`. A message never repeats the URL, which may hold a credential.
 * @returns the repository's base, without a slash at its end
 */
export function gitAddress(text: string): GitAddress {
  const [, scheme, rest] = /^(github|git\+https|git\+http):\/\/(.*)$/s.exec(text) ?? [];
  if (scheme === undefined || rest === undefined) {
    return refuse('a git URL begins with github://, git+https:// or git+http://');
  }
  const authority = rest.split(/[/?#]/, 1)[0] ?? '';
  if (authority.includes('@')) {
    return refuse(
      'spec.url holds a user name or password; put credentials into a Secret and name it in spec.secretRef',
    );
  }
  if (/[?#]/.test(rest)) return refuse('a git URL has no query and no fragment; the branch or tag goes into spec.ref');
  if (scheme === 'github') {
    const [, organisation, repository] = /^([A-Za-z0-9._-]+)\/([A-Za-z0-9._-]+?)(?:\.git)?\/?$/.exec(rest) ?? [];
    if (organisation === undefined || repository === undefined || /^\.{1,2}$/.test(repository)) {
      return refuse('a GitHub address is github://ORGANISATION/REPOSITORY; a folder goes into spec.subdirectory');
    }
    return { ok: true, url: new URL(`https://github.com/${organisation}/${repository}.git`) };
  }
  const url = URL.parse(`${scheme === 'git+https' ? 'https' : 'http'}://${rest}`);
  if (url === null || url.pathname === '/') return refuse('a git URL is git+https://HOST/PATH/TO/REPOSITORY');
  url.pathname = url.pathname.replace(/\/+$/, '');
  return { ok: true, url };
}
