// From `spec.url` to the address of a WebDAV folder, and from a path below it to a URL.

export type WebDavAddress = { ok: true; url: URL } | { ok: false; message: string };

const refuse = (message: string): WebDavAddress => ({ ok: false, message });

/**
 * `webdav+https://…` and `webdav+http://…`. A message never repeats the URL, which may hold a credential.
 * @returns the folder, with a slash at its end
 */
export function webDavAddress(text: string): WebDavAddress {
  const [, scheme, rest] = /^webdav\+(https?):\/\/(.*)$/s.exec(text) ?? [];
  if (scheme === undefined || rest === undefined) {
    return refuse('a WebDAV URL begins with webdav+https:// or webdav+http://');
  }
  if (rest.split(/[/?#]/, 1)[0]?.includes('@')) {
    return refuse('spec.url holds a user name or password; put them into a Secret and name it in spec.secretRef');
  }
  if (/[?#\\]/.test(rest)) return refuse('a WebDAV URL has no query, no fragment and no backslash');
  if (/\/(\.|%2e){1,2}(\/|$)/i.test(rest)) return refuse('a WebDAV URL has no . and no .. in its path');
  const url = URL.parse(`${scheme}://${rest}`);
  if (url === null || url.hostname === '') return refuse('a WebDAV URL is webdav+https://HOST/PATH/TO/FOLDER');
  url.pathname = url.pathname.replace(/\/*$/, '/');
  return { ok: true, url };
}

/** @param path below the folder, raw, `` for itself */
export const fileUrl = (folder: URL, path: string): URL => new URL(folder.href + encoded(path));

/** The same for a folder, with a slash at its end: servers redirect, or compute Digest over it, where it is missing. */
export const folderUrl = (folder: URL, path: string): URL =>
  new URL(path === '' ? folder.href : `${folder.href}${encoded(path)}/`);

const encoded = (path: string): string => path.split('/').map(encodeURIComponent).join('/');
