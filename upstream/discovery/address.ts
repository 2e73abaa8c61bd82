// From `spec.url` to the address of another publisher's discovery index.

export type IndexAddress = { ok: true; url: URL } | { ok: false; message: string };

/** Where an index stands, in the form of today and in the one before. */
const wellKnown = /\/\.well-known\/(agent-skills|skills)\/index\.json$/;

/** A message never repeats the URL, which may hold a credential. */
export function indexAddress(text: string): IndexAddress {
  const url = /^https?:\/\//.test(text) ? URL.parse(text) : null;
  if (url === null || !wellKnown.test(url.pathname)) {
    return refuse('a discovery index is https://HOST/.well-known/agent-skills/index.json');
  }
  if (url.username !== '' || url.password !== '') {
    return refuse(
      'spec.url holds a user name or password; put credentials into a Secret and name it in spec.secretRef',
    );
  }
  if (/[?#]/.test(text)) return refuse("a discovery index's URL has no query and no fragment");
  return { ok: true, url };
}

const refuse = (message: string): IndexAddress => ({ ok: false, message });
