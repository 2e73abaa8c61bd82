// WebDAV servers that err or lie: nothing of it becomes content, and no folder is taken for empty that is not.
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import type { ServerResponse } from 'node:http';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { promisify } from 'node:util';
import { GuardedClient } from '../../upstream/guard/client.ts';
import { webDavAddress } from '../../upstream/webdav/address.ts';
import { Authentication } from '../../upstream/webdav/authentication.ts';
import { WebDavServer } from '../../upstream/webdav/server.ts';
import { newMemory } from '../fixtures/git-look.ts';
import { fault, serve } from '../fixtures/http.ts';
import type { Behaviour } from '../fixtures/recording-proxy.ts';
import { type DavLookOptions, lookDav, probeDav } from '../fixtures/webdav-look.ts';

const ok = 'HTTP/1.1 200 OK';
const old = 'Mon, 02 Mar 2026 10:00:00 GMT';

const escaped = (text: string): string => text.replaceAll('&', '&amp;').replaceAll('<', '&lt;');
const multistatus = (...responses: string[]): string =>
  `<?xml version="1.0"?><d:multistatus xmlns:d="DAV:" xmlns:x="urn:x">${responses.join('')}</d:multistatus>`;
const propstat = (properties: string, status = ok): string =>
  `<d:propstat><d:prop>${properties}</d:prop><d:status>${status}</d:status></d:propstat>`;
const response = (href: string, ...parts: string[]): string =>
  `<d:response><d:href>${escaped(href)}</d:href>${parts.join('')}</d:response>`;
const folder = (href: string): string => response(href, propstat('<d:resourcetype><d:collection/></d:resourcetype>'));
const fileProperties = (content: string): string =>
  `<d:resourcetype/><d:getcontentlength>${Buffer.byteLength(content)}</d:getcontentlength><d:getlastmodified>${old}</d:getlastmodified><d:getetag>"e-${content}"</d:getetag>`;
const file = (href: string, content: string): string => response(href, propstat(fileProperties(content)));

interface Fake {
  url: string;
  /** What each path answers: a multistatus to PROPFIND, content to GET. */
  paths: Map<string, string | Buffer | Behaviour>;
  requests: string[];
}

/** A server that says exactly what a test wants, which no real one does on demand. */
async function fake(t: TestContext, paths: Record<string, string | Buffer | Behaviour>): Promise<Fake> {
  const answers = new Map(Object.entries(paths));
  const requests: string[] = [];
  const origin = await serve(t, (request, response) => {
    const key = `${request.method} ${request.url}`;
    requests.push(`${key} ${request.headers.depth ?? ''}`.trim());
    const answer = answers.get(key);
    if (typeof answer === 'function') return void answer(request, response);
    if (answer === undefined) return void response.writeHead(404).end('canary');
    response.writeHead(request.method === 'PROPFIND' ? 207 : 200).end(answer);
  });
  return { url: `webdav+${origin}/dav`, paths: answers, requests };
}

const answers =
  (status: number, headers: Record<string, string> = {}, body = 'canary'): Behaviour =>
  (_request, response: ServerResponse) => {
    response.writeHead(status, headers).end(body);
    return true;
  };

const contents = async (url: string, options: DavLookOptions = {}) =>
  Object.fromEntries([...(await lookDav(url, options)).files].sort());

test('every propstat counts, the successful ones alone, and only properties of DAV:', async (t) => {
  const missing = propstat('<d:getetag/><d:getcontentlength/>', 'HTTP/1.1 404 Not Found');
  const foreign = '<x:getetag>"evil"</x:getetag><x:resourcetype><x:collection/></x:resourcetype>';
  const { url } = await fake(t, {
    'PROPFIND /dav/': multistatus(
      folder('/dav/'),
      response(
        '/dav/sub',
        missing,
        propstat('<d:getetag>"s"</d:getetag>'),
        propstat('<d:resourcetype><d:collection/></d:resourcetype>'),
      ),
      response('/dav/a.md', missing, propstat(foreign), propstat(fileProperties('aa'))),
      response(
        '/dav/typed.md',
        propstat(
          `${foreign}${fileProperties('t').replace('<d:resourcetype/>', '<d:resourcetype><x:collection/></d:resourcetype>')}`,
        ),
      ),
    ),
    'PROPFIND /dav/sub/': multistatus(folder('/dav/sub/'), file('/dav/sub/b.md', 'b')),
    'GET /dav/a.md': 'aa',
    'GET /dav/sub/b.md': 'b',
    'GET /dav/typed.md': 't',
  });
  const found = await lookDav(url);
  assert.deepEqual(Object.fromEntries([...found.files].sort()), { 'a.md': 'aa', 'sub/b.md': 'b', 'typed.md': 't' });
  assert.equal(found.entries.find(({ path }) => path === 'a.md')?.size, 2);
});

test('hrefs that may not be are each a problem, and the good entries come', async (t) => {
  const bad: [string, RegExp][] = [
    ['/dav/../../etc/passwd', /has the part \.\./],
    ['/dav/%2e%2e/x', /has the part \.\./],
    ['/dav/%2E%2E%2fx', /slash or a NUL|has the part/],
    ['/dav/a%2Fb', /slash or a NUL/],
    ['/dav/a%00b', /slash or a NUL/],
    ['/dav/a%0Ab', /line break/],
    ['/dav/a%5Cb', /backslash/],
    ['/dav/100%.md', /escaped in a way/],
    ['/dav/caf%E9.md', /escaped in a way/],
    ['http://elsewhere.example/dav/x.md', /another server/],
    ['//elsewhere.example/dav/x.md', /another server/],
    ['file:///dav/x.md', /another server|no path/],
    ['x.md', /no path from the root/],
    ['/other/x.md', /outside the folder/],
    ['/dav', /^$/],
  ];
  const { url, requests } = await fake(t, {
    'PROPFIND /dav/': multistatus(
      folder('/dav/'),
      ...bad.slice(0, -1).map(([href]) => file(href, 'canary')),
      file('/dav/good.md', 'good'),
    ),
    'GET /dav/good.md': 'good',
  });
  const found = await lookDav(url);
  assert.deepEqual([...found.files], [['good.md', 'good']]);
  assert.deepEqual(requests.slice(1), ['PROPFIND /dav/ 1', 'GET /dav/good.md'], 'nothing else was asked for');
  assert.equal(found.problems.length, bad.length - 1);
  for (const [at, problem] of found.problems.entries()) {
    assert.deepEqual([problem.path, problem.reason, problem.severity], ['.', 'BadFileName', 'error']);
    assert.match(problem.message, bad[at]![1]);
    assert.doesNotMatch(problem.message, /passwd|elsewhere/);
  }
});

test('whole URLs of the same host are taken, whatever their scheme', async (t) => {
  const paths: Record<string, string> = { 'GET /dav/a.md': 'a', 'GET /dav/b.md': 'b' };
  const { url, paths: answers } = await fake(t, paths);
  const host = url.replace(/^webdav\+http:\/\/|\/dav$/g, '');
  answers.set(
    'PROPFIND /dav/',
    multistatus(folder(`http://${host}/dav/`), file(`http://${host}/dav/a.md`, 'a'), file('/dav//b.md', 'b')),
  );
  assert.deepEqual(await contents(url), { 'a.md': 'a', 'b.md': 'b' });
});

test('a row with its own 403 is a problem with its name; the rest is whole', async (t) => {
  const { url } = await fake(t, {
    'PROPFIND /dav/': multistatus(
      folder('/dav/'),
      response('/dav/secret.md', '<d:status>HTTP/1.1 403 Forbidden</d:status>'),
      response('/dav/hidden/', propstat('<d:resourcetype/><d:getetag/>', 'HTTP/1.1 403 Forbidden')),
      file('/dav/a.md', 'a'),
    ),
    'GET /dav/a.md': 'a',
  });
  const found = await lookDav(url);
  assert.deepEqual([...found.files], [['a.md', 'a']]);
  assert.deepEqual(
    found.problems.map(({ path, reason, message }) => [path, reason, /HTTP 403/.test(message)]),
    [
      ['secret.md', 'AccessDenied', true],
      ['hidden', 'AccessDenied', true],
    ],
  );
});

const wrong: Record<string, [reason: string, answer: string | Behaviour, message?: RegExp]> = {
  'a 401': ['AuthenticationFailed', answers(401, { 'www-authenticate': 'Basic realm="x"' })],
  'a 401 without a challenge': ['AuthenticationFailed', answers(401)],
  'a Digest that Lyceum does not have': [
    'AuthenticationFailed',
    answers(401, { 'www-authenticate': 'Digest realm="x", nonce="n", algorithm=SHA-256, qop="auth"' }),
    /other than MD5/,
  ],
  'a 403': ['AccessDenied', answers(403)],
  'a 304': ['UpstreamInvalid', answers(304)],
  'a 500': ['UpstreamInvalid', answers(500)],
  'a 429': ['RateLimited', answers(429, { 'retry-after': '7' })],
  'a sign-in page with 200': [
    'UpstreamInvalid',
    answers(200, { 'content-type': 'text/html' }, '<html>canary</html>'),
    /sign-in page/,
  ],
  'a sign-in page with 207': ['UpstreamInvalid', answers(207, {}, '<!doctype html><html>canary</html>')],
  'no XML at all': ['UpstreamInvalid', 'canary'],
  'an empty body': ['UpstreamInvalid', ''],
  'another XML': ['UpstreamInvalid', '<feed xmlns="DAV:"/>'],
  'a multistatus of another namespace': ['UpstreamInvalid', '<multistatus xmlns="urn:x"/>'],
  'a body that breaks off': ['UpstreamInvalid', multistatus(folder('/dav/'), file('/dav/a.md', 'a')).slice(0, -20)],
  'a body that breaks off between rows': [
    'UpstreamInvalid',
    multistatus(folder('/dav/'), file('/dav/a.md', 'a')).replace('</d:multistatus>', ''),
  ],
  'a row without a name': [
    'UpstreamInvalid',
    multistatus(folder('/dav/'), '<d:response><d:status>HTTP/1.1 200 OK</d:status></d:response>'),
  ],
  'another folder than was asked for': [
    'UpstreamInvalid',
    multistatus(folder('/'), file('/b.md', 'b')),
    /does not list the folder/,
  ],
  'the same rows below another prefix': [
    'UpstreamInvalid',
    multistatus(folder('/internal/dav/'), file('/internal/dav/a.md', 'a')),
    /proxy/,
  ],
  'no rows': ['UpstreamInvalid', multistatus()],
  'a failure of the folder itself': [
    'UpstreamInvalid',
    multistatus(response('/dav/', '<d:status>HTTP/1.1 507 Insufficient Storage</d:status>'), file('/dav/a.md', 'a')),
  ],
  'a part that fails for now': [
    'UpstreamInvalid',
    multistatus(folder('/dav/'), response('/dav/x/', '<d:status>HTTP/1.1 503 Service Unavailable</d:status>')),
    /at present \(HTTP 503/,
  ],
  'an entity bomb': [
    'UpstreamInvalid',
    `<?xml version="1.0"?><!DOCTYPE m [<!ENTITY a "aaaaaaaaaa"><!ENTITY b "&a;&a;&a;">]><multistatus xmlns="DAV:">&b;</multistatus>`,
  ],
  'an outside entity': [
    'UpstreamInvalid',
    `<?xml version="1.0"?><!DOCTYPE m [<!ENTITY a SYSTEM "file:///etc/passwd">]><multistatus xmlns="DAV:"/>`,
  ],
  'elements without end': ['UpstreamInvalid', multistatus(folder('/dav/'), '<d:a>'.repeat(100_000))],
};

for (const [what, [reason, answer, message]] of Object.entries(wrong)) {
  test(`${what} is ${reason}, and no empty folder`, async (t) => {
    const { url } = await fake(t, { 'PROPFIND /dav/': answer });
    await assert.rejects(lookDav(url), fault(reason, message));
  });
}

test('a Digest server to which every nonce is old is asked a few times, and never again', async (t) => {
  let nonce = 0;
  const { url, requests } = await fake(t, {
    'PROPFIND /dav/': (_request, response) => {
      response
        .writeHead(401, { 'www-authenticate': `Digest realm="x", nonce="${nonce++}", qop="auth", stale=true` })
        .end('canary');
      return true;
    },
  });
  await assert.rejects(lookDav(url), fault('AuthenticationFailed', /spec\.secretRef/));
  assert(requests.length <= 8, `${requests.length} requests`);
});

test('a server that takes each nonce once, and names no next one, is read whole', async (t) => {
  const fresh = new Set<string>();
  let nonces = 0;
  const once =
    (status: number, body: string): Behaviour =>
    (request, response) => {
      const nonce = / nonce="(\d+)"/.exec(request.headers.authorization ?? '')?.[1];
      if (nonce !== undefined && fresh.delete(nonce)) response.writeHead(status).end(body);
      else {
        fresh.add(String(++nonces));
        const challenge = `Digest realm="x", nonce="${nonces}", qop="auth", stale=${nonce !== undefined}`;
        response.writeHead(401, { 'www-authenticate': challenge }).end('canary');
      }
      return true;
    };
  const names = Array.from({ length: 20 }, (_, at) => `${at}.md`);
  const { url } = await fake(t, {
    'PROPFIND /dav/': once(207, multistatus(folder('/dav/'), ...names.map((name) => file(`/dav/${name}`, name)))),
    ...Object.fromEntries(names.map((name) => [`GET /dav/${name}`, once(200, name)])),
  });
  assert.deepEqual(await contents(url), Object.fromEntries(names.sort().map((name) => [name, name])));
});

test('a sub-folder that cannot be listed fails the look, by its name', async (t) => {
  const { url, paths } = await fake(t, {
    'PROPFIND /dav/': multistatus(folder('/dav/'), folder('/dav/sub/'), file('/dav/a.md', 'a')),
  });
  for (const [answer, reason] of [
    [answers(403), 'AccessDenied'],
    [answers(404), 'NotFound'],
    [multistatus(), 'UpstreamInvalid'],
  ] as const) {
    paths.set('PROPFIND /dav/sub/', answer);
    await assert.rejects(lookDav(url), fault(reason));
  }
});

test('a server that answers Depth 1 as if it were 0 makes no folder empty', async (t) => {
  const whole = multistatus(folder('/dav/'), file('/dav/a.md', 'a'));
  const { url, paths, requests } = await fake(t, {
    'PROPFIND /dav/': whole,
    'GET /dav/a.md': 'a',
    'PROPFIND /dav/a.md': multistatus(file('/dav/a.md', 'a')),
  });
  const memory = newMemory();
  await lookDav(url, { memory });
  paths.set('PROPFIND /dav/', multistatus(folder('/dav/')));
  requests.length = 0;
  await assert.rejects(probeDav(url, { memory }), fault('UpstreamInvalid', /empty.*Depth/));
  assert(requests.includes('PROPFIND /dav/a.md 0'));
  paths.delete('PROPFIND /dav/a.md');
  assert.deepEqual(await contents(url, { memory }), {}, 'once its file is gone too, the folder is empty');
});

test('a server that answers with more than one level has each file once', async (t) => {
  const deep = [folder('/dav/sub/'), file('/dav/sub/b.md', 'b')];
  const { url } = await fake(t, {
    'PROPFIND /dav/': multistatus(folder('/dav/'), ...deep, file('/dav/a.md', 'a')),
    'PROPFIND /dav/sub/': multistatus(...deep),
    'GET /dav/a.md': 'a',
    'GET /dav/sub/b.md': 'b',
  });
  assert.deepEqual(await contents(url), { 'a.md': 'a', 'sub/b.md': 'b' });
});

const hidden: Record<string, Behaviour> = {
  'a 401 page': answers(401),
  'a 304': answers(304),
  'a 204': answers(204),
  'part of it': answers(206, {}, 'a'),
  'a sign-in page with 200': answers(200, { 'content-type': 'text/html' }, '<html>canary: sign in</html>'),
  'a shorter body': answers(200, {}, 'go'),
  'a body that breaks off': (_request, response) => {
    response.writeHead(200, { 'content-length': '4' }).write('go', () => response.destroy());
    return true;
  },
};

for (const [what, answer] of Object.entries(hidden)) {
  test(`${what} in the place of a file never becomes its content`, async (t) => {
    const { url, paths } = await fake(t, {
      'PROPFIND /dav/': multistatus(folder('/dav/'), file('/dav/a.md', 'good')),
      'GET /dav/a.md': answer,
    });
    await assert.rejects(lookDav(url), fault(what === 'a 401 page' ? 'AuthenticationFailed' : 'UpstreamInvalid'));
    paths.set('GET /dav/a.md', 'good');
    assert.deepEqual(await contents(url), { 'a.md': 'good' });
  });
}

test('an HTML page never becomes the content of a file without a size', async (t) => {
  const unsized = response('/dav/a.md', propstat('<d:resourcetype/>'));
  const page = answers(200, { 'content-type': 'text/html; charset=utf-8' }, '<html>canary</html>');
  const { url } = await fake(t, { 'PROPFIND /dav/': multistatus(folder('/dav/'), unsized), 'GET /dav/a.md': page });
  await assert.rejects(lookDav(url), fault('UpstreamInvalid', /sign-in page/));
});

test('ETags of any form are compared as they stand, weak or strong', async (t) => {
  const tagged = (etag: string) =>
    multistatus(folder('/dav/'), response('/dav/a.md', propstat(fileProperties('a').replace(/"e-a"/, etag))));
  const { url, paths } = await fake(t, { 'PROPFIND /dav/': tagged('123e45'), 'GET /dav/a.md': 'a' });
  const memory = newMemory();
  const first = (await lookDav(url, { memory })).revision;
  paths.set('PROPFIND /dav/', tagged('123e46'));
  const second = await probeDav(url, { memory });
  assert.notEqual(second, first);
  paths.set('PROPFIND /dav/', tagged('W/&quot;x&quot;'));
  const weak = await probeDav(url, { memory });
  paths.set('PROPFIND /dav/', tagged('&quot;x&quot;'));
  assert.equal(await probeDav(url, { memory }), weak, 'Apache calls a tag weak for a second, then strong');
});

test('a file without ETag and time is compared by its bytes at every look', async (t) => {
  const bare = response('/dav/a.md', propstat('<d:resourcetype/><d:getcontentlength>3</d:getcontentlength>'));
  const { url, paths, requests } = await fake(t, {
    'PROPFIND /dav/': multistatus(folder('/dav/'), bare),
    'GET /dav/a.md': 'one',
  });
  const memory = newMemory();
  const { revision } = await lookDav(url, { memory });
  requests.length = 0;
  assert.equal(await probeDav(url, { memory }), revision);
  assert.equal(requests.filter((one) => one.startsWith('GET')).length, 1);
  paths.set('GET /dav/a.md', 'two');
  assert.notEqual(await probeDav(url, { memory }), revision);
});

test('an ETag of more than a thousand characters is none: it proves nothing, and is kept nowhere', async (t) => {
  const etag = `"${'e'.repeat(2 ** 20)}"`;
  const properties = `<d:resourcetype/><d:getcontentlength>3</d:getcontentlength><d:getetag>${etag}</d:getetag>`;
  const { url, paths } = await fake(t, {
    'PROPFIND /dav/': multistatus(folder('/dav/'), response('/dav/a.md', propstat(properties))),
    'GET /dav/a.md': 'one',
  });
  const memory = newMemory();
  const { revision } = await lookDav(url, { memory });
  assert((await memory.load())!.length < 2000);
  paths.set('GET /dav/a.md', 'two');
  assert.notEqual(await probeDav(url, { memory }), revision);
});

test('the name of a row that may not be seen is as short as any other', async (t) => {
  const denied = `<d:response><d:href>/dav/${'n'.repeat(2000)}</d:href><d:status>HTTP/1.1 403 Forbidden</d:status></d:response>`;
  const { url } = await fake(t, { 'PROPFIND /dav/': multistatus(folder('/dav/'), denied) });
  await assert.rejects(lookDav(url), fault('LimitExceeded', /1024 bytes in a path/));
});

test('a forced look reads again what no ETag proves, and nothing else', async (t) => {
  const weak = response('/dav/weak.md', propstat(fileProperties('weak').replace('"e-weak"', 'W/"w"')));
  const { url, requests } = await fake(t, {
    'PROPFIND /dav/': multistatus(folder('/dav/'), weak, file('/dav/strong.md', 'strong')),
    'GET /dav/weak.md': 'weak',
    'GET /dav/strong.md': 'strong',
  });
  const [memory, known] = [newMemory(), new Map<string, string>()];
  await lookDav(url, { memory, known });
  requests.length = 0;
  await lookDav(url, { memory, known });
  assert(!requests.some((one) => one.startsWith('GET')));
  await lookDav(url, { memory, known, force: true });
  assert.deepEqual(
    requests.filter((one) => one.startsWith('GET')),
    ['GET /dav/weak.md'],
  );
});

test('folders of a Nextcloud whose ETag has not moved are not listed again, but for mounts', async (t) => {
  const nextcloud = (href: string, etag: string, permissions = 'RGDNVCK') =>
    response(
      href,
      propstat(
        `<d:resourcetype><d:collection/></d:resourcetype><d:getetag>"${etag}"</d:getetag><o:permissions xmlns:o="http://owncloud.org/ns">${permissions}</o:permissions>`,
      ),
    );
  const listings = (...etags: string[]): [string, string][] => [
    [
      'PROPFIND /dav/',
      multistatus(
        nextcloud('/dav/', etags.join()),
        nextcloud('/dav/a/', etags[0]!),
        nextcloud('/dav/b/', etags[1]!),
        nextcloud('/dav/m/', etags[2]!, 'RGDNVCKM'),
      ),
    ],
    ['PROPFIND /dav/a/', multistatus(nextcloud('/dav/a/', etags[0]!), nextcloud('/dav/a/x/', etags[0]!))],
    ['PROPFIND /dav/a/x/', multistatus(nextcloud('/dav/a/x/', etags[0]!), file('/dav/a/x/1.md', etags[0]!))],
    [
      'PROPFIND /dav/b/',
      multistatus(nextcloud('/dav/b/', etags[1]!), nextcloud('/dav/b/y/', 'same'), file('/dav/b/2.md', etags[1]!)),
    ],
    ['PROPFIND /dav/b/y/', multistatus(nextcloud('/dav/b/y/', 'same'))],
    ['PROPFIND /dav/m/', multistatus(nextcloud('/dav/m/', etags[2]!))],
  ];
  const { url, paths, requests } = await fake(t, Object.fromEntries(listings('a1', 'b1', 'm1')));
  for (const [path, content] of [
    ['a/x/1.md', 'a1'],
    ['b/2.md', 'b1'],
  ] as const)
    paths.set(`GET /dav/${path}`, content);
  const memory = newMemory();
  const first = await lookDav(url, { memory });
  const asked = async (): Promise<string[]> => {
    requests.length = 0;
    await probeDav(url, { memory });
    return [...new Set(requests.map((one) => one.split(' ')[1]!))].sort();
  };
  assert.deepEqual(await asked(), ['/dav/', '/dav/m/'], 'what is mounted may have changed without its ETag');
  assert.equal(await probeDav(url, { memory }), first.revision);
  for (const [key, listing] of listings('a1', 'b2', 'm1')) paths.set(key, listing);
  assert.deepEqual(await asked(), ['/dav/', '/dav/b/', '/dav/m/'], 'b was edited, and y in it was not');
  assert.notEqual(await probeDav(url, { memory }), first.revision);
  for (const [key, listing] of listings('a2', 'b2', 'm1')) paths.set(key, listing);
  assert.deepEqual(await asked(), ['/dav/', '/dav/a/', '/dav/a/x/', '/dav/m/']);
});

test('a forced look lists every folder, whatever the ETags of folders say', async (t) => {
  const nextcloud = (href: string): string =>
    response(
      href,
      propstat(
        '<d:resourcetype><d:collection/></d:resourcetype><d:getetag>"same"</d:getetag><o:permissions xmlns:o="http://owncloud.org/ns">RGDNVCK</o:permissions>',
      ),
    );
  const { url, paths, requests } = await fake(t, {
    'PROPFIND /dav/': multistatus(nextcloud('/dav/'), nextcloud('/dav/a/')),
    'PROPFIND /dav/a/': multistatus(nextcloud('/dav/a/'), nextcloud('/dav/a/x/')),
    'PROPFIND /dav/a/x/': multistatus(nextcloud('/dav/a/x/'), file('/dav/a/x/1.md', 'old')),
    'GET /dav/a/x/1.md': 'old',
  });
  const [memory, known] = [newMemory(), new Map<string, string>()];
  assert.deepEqual(await contents(url, { memory, known }), { 'a/x/1.md': 'old' });
  paths.set('PROPFIND /dav/a/x/', multistatus(nextcloud('/dav/a/x/'), file('/dav/a/x/1.md', 'new')));
  paths.set('GET /dav/a/x/1.md', 'new');
  assert.deepEqual(await contents(url, { memory, known }), { 'a/x/1.md': 'old' }, 'the ETags are believed');
  requests.length = 0;
  assert.deepEqual(await contents(url, { memory, known, force: true }), { 'a/x/1.md': 'new' });
  const listed = new Set(requests.filter((one) => one.startsWith('PROPFIND')));
  assert.deepEqual([...listed], ['PROPFIND /dav/ 1', 'PROPFIND /dav/a/ 1', 'PROPFIND /dav/a/x/ 1']);
});

test('a name that stands twice is one file and a problem', async (t) => {
  const { url } = await fake(t, {
    'PROPFIND /dav/': multistatus(folder('/dav/'), file('/dav/a.md', 'a'), file('/dav/%61.md', 'a')),
    'GET /dav/a.md': 'a',
  });
  const found = await lookDav(url);
  assert.deepEqual([...found.files], [['a.md', 'a']]);
  assert.deepEqual(
    found.problems.map(({ path, reason }) => [path, reason]),
    [['a.md', 'BadFileName']],
  );
});

test('a listing of more than 16 MiB is LimitExceeded, while it streams', async (t) => {
  let sent = 0;
  const { url } = await fake(t, {
    'PROPFIND /dav/': (_request, response) => {
      response.writeHead(207);
      const row = Buffer.from(file('/dav/a.md', 'a').repeat(1000));
      response.write(multistatus(folder('/dav/')).replace('</d:multistatus>', ''));
      const more = (): void => {
        while (!response.destroyed && sent < 2 ** 26) {
          sent += row.length;
          if (!response.write(row)) return void response.once('drain', more);
        }
      };
      more();
      return true;
    },
  });
  await assert.rejects(lookDav(url), fault('LimitExceeded'));
  assert(sent < 2 ** 25, `${sent} bytes were sent`);
});

/** As many of a piece as a listing of 16 MiB has room for. */
const filled = (piece: string): string => piece.repeat(Math.floor((2 ** 24 - 1000) / piece.length));

const swollen: Record<string, [rows: string, reason: string]> = {
  'rows beyond 500,000, in many folders at once,': [filled(response('/x')), 'LimitExceeded'],
  'a million propstats of one file': [
    `<d:response><d:href>/dav/0/a</d:href>${filled('<d:propstat/>')}</d:response>`,
    'NotFound',
  ],
};
for (const [what, [rows, reason]] of Object.entries(swollen)) {
  test(`${what} take no more memory than an operator has`, async (t) => {
    const folders = Array.from({ length: 6 }, (_, at) => `/dav/${at}/`);
    const { url } = await fake(t, {
      'PROPFIND /dav/': multistatus(folder('/dav/'), ...folders.map(folder)),
      ...Object.fromEntries(folders.map((path) => [`PROPFIND ${path}`, multistatus(folder(path), rows)])),
    });
    const child = join(import.meta.dirname, '../fixtures/webdav-look-child.ts');
    const { stdout } = await promisify(execFile)(process.execPath, ['--max-old-space-size=150', child, url]);
    assert.equal(stdout, reason);
  });
}

test('what is said of one file is at most 1 MiB', async (t) => {
  const long = `${multistatus(file('/dav/a.md', 'a'))}${' '.repeat(2 ** 20)}`;
  const { url } = await fake(t, { 'PROPFIND /dav/a.md': long });
  const address = webDavAddress(url);
  assert(address.ok);
  const client = new GuardedClient({ allowLoopback: true, deniedCidrs: [] });
  t.after(() => client.close());
  const authentication = new Authentication(address.url, 'me', 'secret');
  const server = new WebDavServer({ url: address.url, client, authentication, received: () => {} });
  await assert.rejects(server.look('a.md', AbortSignal.timeout(5000)), fault('LimitExceeded'));
});

test('a tree without end is LimitExceeded', async (t) => {
  const origin = await serve(t, (request, response) => {
    const path = request.url!;
    response.writeHead(207).end(multistatus(folder(path), folder(`${path}d/`)));
  });
  await assert.rejects(lookDav(`webdav+${origin}/dav`), fault('LimitExceeded', /64 levels/));
});

test('redirects are followed with the password kept for its own origin, and never a sixth', async (t) => {
  const seen: (string | undefined)[] = [];
  const other = await serve(t, (request, response) => {
    seen.push(request.headers.authorization);
    response.writeHead(207).end(multistatus(folder('/moved/')));
  });
  const { url, paths, requests } = await fake(t, {
    'PROPFIND /dav/': answers(301, { location: '/here/' }),
    'PROPFIND /here/': multistatus(folder('/here/')),
  });
  assert.deepEqual(await contents(url), {});
  assert(requests.every((one) => one.startsWith('PROPFIND')));
  paths.set('PROPFIND /dav/', answers(307, { location: `${other}/moved/` }));
  assert.deepEqual(await contents(url), {});
  assert.deepEqual([...new Set(seen)], [undefined], 'another port is another origin');
  paths.set('PROPFIND /dav/', answers(302, { location: '/dav/' }));
  await assert.rejects(lookDav(url), fault('UpstreamInvalid', /more than 5 times/));
  paths.set('PROPFIND /dav/', answers(303, { location: '/here/' }));
  await assert.rejects(lookDav(url), fault('UpstreamInvalid', /loses what was asked/));
});

test('an address that is closed to sources is closed to WebDAV', async () => {
  for (const url of ['webdav+http://127.0.0.1:1/', 'webdav+http://169.254.169.254/latest/', 'webdav+http://[::1]:1/']) {
    await assert.rejects(lookDav(url, { guard: { allowLoopback: false } }), fault('AddressNotAllowed'));
  }
});

async function memoryOfAnother(t: TestContext): Promise<Buffer> {
  const { url } = await fake(t, {
    'PROPFIND /dav/': multistatus(folder('/dav/'), file('/dav/b.md', 'b')),
    'GET /dav/b.md': 'b',
  });
  const memory = newMemory();
  await lookDav(url, { memory });
  return memory.bytes!;
}

test('memory that is damaged, or of another folder, costs a full look and nothing else', async (t) => {
  const { url } = await fake(t, {
    'PROPFIND /dav/': multistatus(folder('/dav/'), file('/dav/a.md', 'a')),
    'GET /dav/a.md': 'a',
  });
  const memory = newMemory();
  const { revision } = await lookDav(url, { memory });
  const good = memory.bytes!;
  for (const bytes of [
    Buffer.from('x'),
    good.subarray(0, good.length - 9),
    Buffer.from(good.toString('latin1').replace('e-a', 'e-b'), 'latin1'),
    await memoryOfAnother(t),
  ]) {
    const found = await lookDav(url, { memory: newMemory(bytes) });
    assert.equal(found.revision, revision);
    assert.deepEqual([...found.files], [['a.md', 'a']]);
  }
});
