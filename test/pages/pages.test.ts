// The pages over plain HTTP: what stands where, what a scope and a token let through, what is said where there is nothing.
import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { request } from 'node:http';
import { text } from 'node:stream/consumers';
import { before, describe, it } from 'node:test';
import { gunzipSync } from 'node:zlib';
import {
  type CatalogueFixture,
  GatewayFixture,
  lifetime,
  serve,
  serveCatalogue,
  until,
} from '../server/support/gateway.ts';
import { serveHarvested } from '../server/support/harvested.ts';

const browser = { Accept: 'text/html,application/xhtml+xml,*/*;q=0.8' };
const suite = lifetime();

const catalogue: CatalogueFixture = {
  libraries: [{ name: 'ops', title: 'Operations <&>', description: 'For "operators".' }],
  sources: [
    {
      name: 'ops',
      revision: 'main@sha1:1111111111111111111111111111111111111111',
      skills: [
        {
          address: 'runbook',
          description: 'Write a <runbook>.',
          group: 'incidents',
          version: '2.0.0',
          tags: ['on-call'],
          files: { 'notes/a b#c?.md': 'Notes\n', 'logo.png': new Uint8Array([137, 80, 78, 71, 0, 255]) },
          older: [
            { version: '1.10.0', files: { 'notes/old.md': 'Old\n' } },
            { version: 'v1 beta', files: {} },
          ],
        },
        { address: 'twin', description: 'The one of operations.' },
        { address: 'raw', description: 'A skill that is called as a route is.' },
      ],
      rules: [
        { address: 'naming', description: 'Names.', main: 'RULE.md', version: '1.0.0', older: [{ version: '0.9.0' }] },
      ],
      profiles: [{ address: 'scribe', description: 'Writes.' }],
      prompts: [
        {
          address: 'hand-over',
          title: 'Hand over',
          description: 'Say what happened.',
          arguments: [{ name: 'notes', description: 'What happened.', required: true }],
          text: 'From {{ notes }}.\n',
        },
      ],
    },
    { name: 'web', tags: ['front'], skills: [{ address: 'twin', description: 'The one of the web.' }] },
    { name: 'skills', skills: [{ address: 'named-as-a-route', description: 'In a library that is called skills.' }] },
    { name: 'late', state: 'stale', reason: 'Unreachable', skills: [{ address: 'kept', description: 'Kept.' }] },
    { name: 'gone', state: 'failed', reason: 'NotFound' },
    { name: 'new', state: 'pending' },
  ],
};

let origin = '';
before(async () => {
  origin = (await serveCatalogue(suite, catalogue)).url;
});

const get = (path: string, headers: Record<string, string> = {}): Promise<Response> =>
  fetch(origin + path, { headers });
const textOf = async (path: string, headers?: Record<string, string>): Promise<string> => {
  const answer = await get(path, headers);
  assert.equal(answer.status, 200, `${path}: ${answer.status}`);
  return await answer.text();
};
const linksIn = (html: string): string[] =>
  [...html.matchAll(/ href="([^"]*)"/g)].map(([, href]) => href!.replaceAll('&amp;', '&'));

describe('a page', () => {
  it('may run nothing but its own script, and reach nobody', async () => {
    for (const path of ['/', '/skills', '/skills/runbook', '/sources', '/skills/nothing']) {
      const answer = await get(path, browser);
      assert.equal(
        answer.headers.get('content-security-policy'),
        "default-src 'none'; style-src 'self'; script-src 'self'; img-src 'self'; connect-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'",
        path,
      );
      assert.equal(answer.headers.get('x-content-type-options'), 'nosniff');
      assert.equal(answer.headers.get('referrer-policy'), 'no-referrer');
      const html = await answer.text();
      assert.doesNotMatch(html, /<script(?![^>]* src=)|<style| style=| on\w+=/, path);
      const foreign = linksIn(html).filter((href) => /^[a-z]+:|^\/\//.test(href));
      assert.deepEqual(foreign, [], path);
    }
  });

  it('is no part of another site’s page, and neither are files, archives and answers of the search', async () => {
    for (const path of [
      '/',
      '/skills/runbook/raw/logo.png',
      '/skills/runbook/archive',
      '/search.json?q=x',
      '/assets/style.css',
    ]) {
      assert.equal((await get(path)).headers.get('cross-origin-resource-policy'), 'same-origin', path);
    }
  });

  it('that is not there is kept by nobody', async () => {
    assert.equal((await get('/skills/none')).headers.get('cache-control'), 'no-store');
    assert.equal((await get('/skills/none', browser)).headers.get('cache-control'), 'private, no-cache');
  });

  it('is kept by nobody else, and not sent again while it is the same', async () => {
    const answer = await get('/');
    assert.equal(answer.headers.get('cache-control'), 'private, no-cache');
    assert.match(answer.headers.get('vary') ?? '', /Authorization, X-Skill-Library/);
    const again = await get('/', { 'If-None-Match': answer.headers.get('etag')! });
    assert.equal(again.status, 304);
  });

  it('names its stylesheet and script by their digests, which are kept for ever', async () => {
    const html = await textOf('/');
    const assets = [...html.matchAll(/(?:href|src)="(\/assets\/[^"]+)"/g)].map(([, path]) => path!);
    assert.ok(assets.length >= 3, String(assets));
    for (const path of assets) {
      const answer = await get(path);
      assert.equal(answer.headers.get('cache-control'), 'private, max-age=31536000, immutable');
      const digest = createHash('sha256')
        .update(new Uint8Array(await answer.arrayBuffer()))
        .digest('hex');
      assert.match(path, new RegExp(`-${digest.slice(0, 16)}\\.`));
    }
    const before = await get('/assets/style-0123456789abcdef.css');
    assert.equal(before.headers.get('cache-control'), 'private, no-cache', 'of another version of Lyceum');
  });

  it('escapes whatever it shows', async () => {
    const html = await textOf('/');
    assert.match(html, /Operations &lt;&amp;&gt;/);
    assert.match(html, /For &quot;operators&quot;\./);
    assert.match(await textOf('/skills/runbook'), /Write a &lt;runbook&gt;\./);
    assert.match(
      await textOf(`/?q=${encodeURIComponent('"><script>alert(1)</script>')}`),
      /value="&quot;&gt;&lt;script&gt;/,
    );
  });

  it('shows addresses of the host that it was asked for, and no host that is none', async () => {
    const { url } = await serveCatalogue(suite, catalogue, { host: '0.0.0.0' });
    const { port } = new URL(url);
    const shownTo = (headers: Record<string, string>): Promise<string | undefined> =>
      new Promise((resolve, reject) => {
        const asked = request({ host: '127.0.0.1', port, headers }, async (answer) => {
          resolve(/<code>([^<]*\/mcp)<\/code>/.exec(await text(answer))?.[1]);
        });
        asked.on('error', reject).end();
      });
    const inCluster = 'http://agents.flow.svc.cluster.local:8000/mcp';
    for (const [host, shown] of [
      ['skills.example.org', 'http://skills.example.org/mcp'],
      ['[::1]:8000', 'http://[::1]:8000/mcp'],
      ['agents:8000', 'http://agents:8000/mcp'],
      ['a b', inCluster],
      ["x'$(id)'", inCluster],
      ['<script>', inCluster],
      ['a@evil.example', inCluster],
      ['evil.example/path', inCluster],
    ] as const) {
      assert.equal(await shownTo({ Host: host }), shown, host);
    }
    const behind = (proto: string) => shownTo({ Host: 'a.example', 'X-Forwarded-Proto': proto });
    assert.equal(await behind('https'), 'https://a.example/mcp');
    assert.equal(await behind('javascript'), 'http://a.example/mcp');
  });
});

describe('every link of every page leads somewhere', () => {
  it('from the overview on', async () => {
    const seen = new Set<string>();
    const open = ['/'];
    for (let path = open.pop(); path !== undefined; path = open.pop()) {
      const answer = await get(path);
      assert.equal(answer.status, 200, path);
      if (!answer.headers.get('content-type')?.startsWith('text/html')) {
        await answer.arrayBuffer();
        continue;
      }
      for (const href of linksIn(await answer.text())) {
        const target = href.split('#')[0]!;
        if (target === '' || seen.has(target)) continue;
        seen.add(target);
        open.push(target);
      }
    }
    for (const path of [
      '/skills/runbook',
      '/skills/runbook/1.10.0',
      '/skills/runbook/v1%20beta',
      '/skills/ops/twin',
      '/skills/web/twin',
      '/skills/raw',
      '/rules/naming/archive/0.9.0',
      '/prompts/ops_hand-over',
      '/profiles/scribe/raw/scribe.md',
      '/sources/gone',
    ]) {
      assert.ok([...seen].includes(path), `${path} is not linked to: ${[...seen].sort().join(' ')}`);
    }
  });
});

describe('an artifact', () => {
  it('is found by its name, by its library and name, or not at all', async () => {
    assert.match(await textOf('/skills/runbook'), /<h1>runbook<\/h1>/);
    assert.match(await textOf('/skills/ops/runbook'), /<h1>runbook<\/h1>/);
    assert.match(await textOf('/rules/naming/'), /<h1>naming<\/h1>/);
    for (const path of [
      '/skills/none',
      '/skills/web/runbook',
      '/rules/runbook',
      '/prompts/hand-over',
      '/skills/%E0%A4%A',
      '/skills/runbook/',
    ]) {
      assert.equal(
        (await get(path)).status,
        path === '/skills/runbook/' ? 200 : path.includes('%E0') ? 400 : 404,
        path,
      );
    }
  });

  it('whose name others have as well is one of several', async () => {
    const answer = await get('/skills/twin');
    assert.equal(answer.status, 300);
    const links = linksIn(await answer.text());
    assert.ok(links.includes('/skills/ops/twin') && links.includes('/skills/web/twin'), String(links));
    assert.match(await textOf('/skills/twin?library=web'), /The one of the web/);
  });

  it('has all that is known of it on its page', async () => {
    const html = await textOf('/skills/runbook');
    for (const known of [
      'skill://ops/runbook',
      '<title>runbook, skill of ops · agents</title>',
      'Instructions of runbook.',
      'on-call',
      '2.0.0',
      '/?library=incidents',
      '/skills/runbook/archive',
      '/skills/runbook/raw/SKILL.md',
      '/skills/runbook/raw/notes/a%20b%23c%3F.md',
      'logo.png',
      'claude mcp add --transport http agents',
      'resources=off&amp;prompts=off',
      '.vscode/mcp.json',
      '/ops --skill runbook',
    ]) {
      assert.ok(html.includes(known), `${known} is missing`);
    }
    assert.match(html, /sha256:[0-9a-f]{64}/);
  });

  it('is a prompt with its arguments, and no archive', async () => {
    const html = await textOf('/prompts/ops_hand-over');
    assert.match(html, /Hand over/);
    assert.match(html, /<code>notes<\/code> \(required\)/);
    assert.equal((await get('/prompts/ops_hand-over/archive')).status, 404);
  });

  it('has its files as they are, in the form of a listing or raw, and nothing that runs', async () => {
    for (const path of ['notes/a%20b%23c%3F.md', 'notes/a%20b%23c%3F.md?library=ops']) {
      const answer = await get(`/skills/runbook/raw/${path}`);
      assert.equal(await answer.text(), 'Notes\n');
      assert.equal(answer.headers.get('content-security-policy'), "default-src 'none'; sandbox");
      assert.equal(answer.headers.get('x-content-type-options'), 'nosniff');
    }
    const bytes = await (await get('/skills/runbook/raw/logo.png')).bytes();
    assert.deepEqual([...bytes], [137, 80, 78, 71, 0, 255]);
    for (const path of ['raw/none', 'raw/../SKILL.md', 'raw/%2e%2e/SKILL.md', 'raw', 'raw/notes']) {
      assert.equal((await get(`/skills/runbook/${path}`)).status, 404, path);
    }
  });

  it('that is called as a route is found all the same', async () => {
    assert.match(await textOf('/skills/raw'), /<h1>raw<\/h1>/);
    assert.match(await textOf('/skills/raw/raw/SKILL.md'), /Instructions of raw/);
    assert.match(await textOf('/skills/ops/raw/raw/SKILL.md'), /Instructions of raw/);
  });
});

describe('names that meet', () => {
  const twin = { address: 'twin', description: 'x' };
  const meeting: CatalogueFixture = {
    sources: [
      { name: 'first', library: 'shared', skills: [{ ...twin, files: { 'whose.md': 'of the first' } }] },
      {
        name: 'second',
        library: 'shared',
        skills: [{ ...twin, version: '2.0.0', files: { 'whose.md': 'of the second' }, older: [{ version: '1.0.0' }] }],
        moves: [{ kind: 'skill', from: 'twin', to: 'second--skills-twin/twin' }],
      },
      { name: 'a', skills: [{ address: 'b', description: 'Of the library a.' }] },
      { name: 'other', skills: [{ address: 'a', description: 'x', version: '1.0.0', older: [{ version: 'b' }] }] },
      { name: 'more', skills: [{ address: 'b', description: 'x' }] },
    ],
  };

  it('an artifact that has moved has its page, files and archives behind its source and folder', async () => {
    const { url } = await serveCatalogue(suite, meeting);
    const links = linksIn(await (await fetch(`${url}/skills/twin`)).text());
    const moved = '/skills/shared/second--skills-twin/twin';
    assert.ok(links.includes(moved) && links.includes('/skills/shared/twin'), String(links));
    assert.equal(await (await fetch(`${url}/skills/shared/twin/raw/whose.md`)).text(), 'of the first');
    assert.equal(await (await fetch(`${url}${moved}/raw/whose.md`)).text(), 'of the second');
    assert.match(await (await fetch(url + moved)).text(), /skill:\/\/shared\/second--skills-twin\/twin/);
    for (const path of ['/1.0.0', '/archive', '/archive/1.0.0']) {
      assert.equal((await fetch(url + moved + path)).status, 200, path);
    }
  });

  it('a path that is a library’s artifact is that one; a version of the same words is linked to behind its library', async () => {
    const { url } = await serveCatalogue(suite, meeting);
    assert.match(await (await fetch(`${url}/skills/a/b`)).text(), /Of the library a/);
    const links = linksIn(await (await fetch(`${url}/skills/a`)).text());
    assert.ok(links.includes('/skills/other/a/b'), String(links));
    assert.match(await (await fetch(`${url}/skills/other/a/b`)).text(), /This is version b/);
  });
});

describe('names, versions and paths that are called as routes are', () => {
  it('what an artifact has is linked to behind its library where that library’s name is another one’s', async () => {
    const { url } = await serveCatalogue(suite, {
      sources: [
        { name: 'a', skills: ['raw', 'archive'].map((address) => ({ address, description: `Of the library a.` })) },
        { name: 'other', skills: [{ address: 'a', description: 'x', files: { 'raw/SKILL.md': 'Of the skill a.\n' } }] },
      ],
    });
    const links = linksIn(await (await fetch(`${url}/skills/a`)).text());
    const file = links.find((href) => href.endsWith('/raw/raw/SKILL.md'));
    assert.equal(await (await fetch(url + file)).text(), 'Of the skill a.\n');
    const archive = links.find((href) => href.endsWith('/archive'));
    assert.equal((await fetch(url + archive)).headers.get('content-type'), 'application/gzip', archive);
  });

  it('a version has its page and its files, whatever its folder is called', async () => {
    const older = ['archive', 'raw', '1.0\u0000', '%2e', '…'].map((version) => ({
      version,
      files: { 'notes.md': `Notes of ${version}\n` },
    }));
    const { url } = await serveCatalogue(suite, {
      sources: [{ name: 'ops', skills: [{ address: 'x', description: 'x', version: '1.0.0', older }] }],
    });
    const versions = linksIn(await (await fetch(`${url}/skills/x`)).text()).filter((href) =>
      /^\/skills\/x\/[^/]+$/.test(href),
    );
    const told: string[] = [];
    for (const version of versions.filter((href) => !href.endsWith('/archive'))) {
      const links = linksIn(await (await fetch(url + version)).text());
      const [file, archive] = ['/raw/notes.md', '/archive/'].map((part) => links.find((href) => href.includes(part)));
      told.push(await (await fetch(url + file)).text());
      assert.equal((await fetch(url + archive)).status, 200, archive);
    }
    assert.deepEqual(told.sort(), older.map(({ version }) => `Notes of ${version}\n`).sort());
  });

  it('a prompt has its page however long its name is, and a URL that is too long is told so wherever it is long', async () => {
    const [library, address] = ['l'.repeat(63), 'p'.repeat(64)];
    const { url } = await serveCatalogue(suite, {
      sources: [{ name: library, prompts: [{ address, description: 'x', text: 'x' }] }],
    });
    const [page] = linksIn(await (await fetch(`${url}/prompts`)).text()).filter((href) => href.startsWith('/prompts/'));
    assert.equal((await fetch(url + page)).status, 200, page);
    for (const path of ['/skills/', '/sources/', '/nothing/']) {
      assert.equal((await fetch(url + path + 'x'.repeat(9000))).status, 414, path);
    }
  });

  it('a URL may be whole, and its letters encoded', async () => {
    const { port } = new URL(origin);
    const statusOf = (path: string): Promise<number | undefined> =>
      new Promise((resolve, reject) => {
        const asked = request({ port, path }, (answer) => resolve(answer.resume().statusCode));
        asked.on('error', reject).end();
      });
    for (const path of ['/skills/runbook', '/skills/runbook/raw/SKILL.md', '/assets/style.css', '/?q=x']) {
      assert.equal(await statusOf(origin + path), 200, `whole ${path}`);
      assert.equal(
        await statusOf(path.replace(/[a-z]/, (letter) => `%${letter.charCodeAt(0).toString(16)}`)),
        200,
        path,
      );
    }
    assert.equal(await statusOf(`${origin}/skills/runbook?library=web`), 404);
  });
});

describe('what is to be pasted into a shell', () => {
  it('is one command, whatever the link to the page says', async () => {
    for (const query of [
      'library=x;touch%20y',
      "library='$(id)`id`",
      'tags=a%27;id',
      'library=../x',
      'library=%0Aid',
    ]) {
      const html = await textOf(`/?${query}`);
      const commands = [...html.matchAll(/<code>((?:claude|codex|npx) [^<]*)<\/code>/g)].map(([, command]) => command!);
      assert.equal(commands.length, 3);
      for (const command of commands) {
        const words = command.replaceAll('&#39;', "'").replace(/'[^']*'/g, '');
        assert.match(words, /^[A-Za-z0-9 :/._-]+$/, command);
      }
    }
    assert.match(await textOf('/?library=web'), /npx skills add http:\/\/127\.0\.0\.1:\d+\/web</);
  });
});

describe('a version', () => {
  it('has a page, files and an archive; the newest has the address', async () => {
    const html = await textOf('/skills/runbook/1.10.0');
    assert.match(html, /This is version 1\.10\.0\. The newest is/);
    assert.ok(linksIn(html).includes('/skills/runbook/1.10.0/raw/notes/old.md'));
    assert.equal(await textOf('/skills/runbook/1.10.0/raw/notes/old.md'), 'Old\n');
    assert.equal((await get('/skills/runbook/raw/notes/old.md')).status, 404);
    assert.equal((await get('/skills/ops/runbook/1.10.0/raw/notes/old.md')).status, 200);
  });

  it('that is no SemVer is one as well', async () => {
    assert.match(await textOf('/skills/runbook/v1%20beta'), /v1 beta/);
  });

  it('that does not exist is not found, on no route', async () => {
    for (const path of ['9.9.9', '9.9.9/raw/SKILL.md', 'archive/9.9.9', 'archive/', 'archive/2.0.0/x', '2.0.0/raw/']) {
      const status = path === 'archive/' ? 200 : 404;
      assert.equal((await get(`/skills/runbook/${path}`)).status, status, path);
    }
  });

  it('as an archive is the same bytes each time, with its manifest', async () => {
    for (const [path, name] of [
      ['/skills/runbook/archive', 'runbook-2.0.0.tar.gz'],
      ['/skills/runbook/archive/1.10.0', 'runbook-1.10.0.tar.gz'],
      ['/skills/runbook/archive/v1%20beta', 'runbook-v1-beta.tar.gz'],
      ['/rules/naming/archive', 'naming-1.0.0.tar.gz'],
      ['/profiles/scribe/archive', 'scribe-0.0.0.tar.gz'],
    ] as const) {
      const [first, second] = [await get(path), await get(path)];
      assert.equal(first.status, 200, path);
      assert.equal(first.headers.get('content-type'), 'application/gzip');
      assert.equal(first.headers.get('content-disposition'), `attachment; filename="${name}"`);
      const bytes = await first.bytes();
      assert.deepEqual(bytes, await second.bytes());
      assert.equal(Number(first.headers.get('content-length')), bytes.length);
      assert.ok(gunzipSync(bytes).includes('.manifest.json'), path);
      assert.equal((await get(path, { 'If-None-Match': first.headers.get('etag')! })).status, 304);
    }
  });

  it('downloaded is counted, and the page tells it', async () => {
    const { url } = await serveCatalogue(suite, catalogue);
    const page = async (): Promise<string> => await (await fetch(`${url}/skills/runbook`)).text();
    assert.match(await page(), /Downloads<\/dt><dd>0</);
    for (const path of ['archive', 'archive/1.10.0'])
      await (await fetch(`${url}/skills/runbook/${path}`)).arrayBuffer();
    await (await fetch(`${url}/skills/runbook/archive`, { method: 'HEAD' })).arrayBuffer();
    assert.match(await page(), /Downloads<\/dt><dd>2</);
    assert.match(await (await fetch(`${url}/skills`)).text(), /2 downloads/);
  });
});

describe('a list', () => {
  it('has pages that lead on, and takes whatever number it is asked for', async () => {
    const skills = Array.from({ length: 120 }, (_, at) => ({
      address: `s-${String(at).padStart(3, '0')}`,
      description: 'x',
    }));
    const { url } = await serveCatalogue(suite, { sources: [{ name: 'many', skills }] });
    const names = new Set<string>();
    let path: string | undefined = '/skills';
    for (let pages = 0; path !== undefined; pages++) {
      assert.ok(pages < 4, 'it ends');
      const html: string = await (await fetch(url + path)).text();
      for (const href of linksIn(html)) if (href.startsWith('/skills/s-')) names.add(href);
      path = /href="([^"]+)" rel="next"/.exec(html)?.[1];
    }
    assert.equal(names.size, 120);
    for (const page of ['0', '-1', 'x', '99999999999', '3', '4']) {
      assert.equal((await fetch(`${url}/skills?page=${page}`)).status, 200, page);
    }
  });

  it('of the versions has pages too', async () => {
    const older = Array.from({ length: 3000 }, (_, at) => ({ version: `1.0.${2999 - at}` }));
    const { url } = await serveCatalogue(suite, {
      sources: [{ name: 'many', skills: [{ address: 'x', description: 'x', version: '2.0.0', older }] }],
    });
    const html = await (await fetch(`${url}/skills/x`)).text();
    assert.ok(html.length < 50_000, String(html.length));
    assert.match(html, /Page 1 of 151/);
    assert.match(await (await fetch(`${url}/skills/x?versions=151`)).text(), /\/skills\/x\/1\.0\.0"/);
  });
});

describe('sources', () => {
  it('are told of with their state and its reason, the address of none', async () => {
    const html = await textOf('/sources');
    for (const name of ['ops', 'web', 'late', 'gone', 'new'])
      assert.ok(linksIn(html).includes(`/sources/${name}`), name);
    assert.match(html, /stale<\/span> Unreachable/);
    assert.match(html, /failed<\/span> NotFound/);
    assert.match(await textOf('/sources/new'), /has not been looked at yet/);
    assert.match(await textOf('/sources/ops'), /main@sha1:1111/);
    assert.equal((await get('/sources/none')).status, 404);
  });

  it('that need a look stand on the overview', async () => {
    const html = await textOf('/');
    const from = html.indexOf('Sources that need a look');
    assert.ok(from !== -1);
    const section = html.slice(from, html.indexOf('</section>', from));
    assert.deepEqual(
      linksIn(section).filter((href) => href.startsWith('/sources/')),
      ['/sources/late', '/sources/gone', '/sources/new'],
    );
  });
});

it('all problems of a source are told, however many there are', async () => {
  const files = Object.fromEntries(
    Array.from({ length: 150 }, (_, at) => [`skills/empty-${String(at).padStart(3, '0')}/SKILL.md`, '']),
  );
  const { server } = await serveHarvested(suite, {
    broken: { files: { ...files, 'skills/good/SKILL.md': '---\nname: good\ndescription: x\n---\nx\n' } },
  });
  const told = new Set<string>();
  for (const page of ['1', '2']) {
    const html = await (await fetch(`${server.url}/sources/broken?page=${page}`)).text();
    for (const [path] of html.matchAll(/skills\/empty-\d+\/SKILL\.md/g)) told.add(path);
    assert.match(html, new RegExp(`150 problems[^]*Page ${page} of 2`));
  }
  assert.equal(told.size, 150);
});

describe('a scope', () => {
  it('narrows every page, and stays in every link', async () => {
    const html = await textOf('/?library=web');
    assert.match(html, /Narrowed to <strong>web<\/strong>/);
    assert.doesNotMatch(html, /runbook/);
    assert.ok(linksIn(html).includes('/skills/twin?library=web'));
    assert.match(html, /\/mcp\?library=web/);
    assert.deepEqual(
      linksIn(await textOf('/sources?library=web')).filter((href) => /^\/sources\//.test(href)),
      ['/sources/web?library=web'],
    );
    assert.match(await textOf('/', { 'X-Skill-Tags': 'front' }), /tagged <strong>front<\/strong>/);
  });

  it('in which nothing is: lists are empty, an item is not found', async () => {
    for (const path of ['/', '/skills', '/rules', '/libraries', '/sources', '/?q=x']) {
      const answer = await get(`${path}${path.includes('?') ? '&' : '?'}library=none`);
      assert.equal(answer.status, 200, path);
      assert.doesNotMatch(await answer.text(), /runbook|twin/, path);
    }
    assert.equal((await get('/skills/runbook?library=none')).status, 404);
  });

  it('what is out of it looks as what does not exist, to the last byte', async () => {
    for (const [hidden, absent] of [
      ['/skills/runbook', '/skills/nothing'],
      ['/skills/ops/runbook', '/skills/ops/nothing'],
      ['/skills/runbook/1.10.0', '/skills/nothing/1.10.0'],
      ['/skills/runbook/raw/SKILL.md', '/skills/nothing/raw/SKILL.md'],
      ['/skills/runbook/archive', '/skills/nothing/archive'],
      ['/prompts/ops_hand-over', '/prompts/ops_nothing'],
      ['/sources/ops', '/sources/nothing'],
    ] as const) {
      for (const headers of [{}, browser]) {
        const [one, other] = [await get(`${hidden}?library=web`, headers), await get(`${absent}?library=web`, headers)];
        assert.deepEqual([one.status, await one.text()], [other.status, await other.text()], hidden);
        assert.equal(one.status, 404);
      }
    }
  });

  it('of a token holds on every page; a token is the password of HTTP Basic', async () => {
    const auth = {
      tokens: { web: 'a-token-of-the-web-team', all: 'a-token-of-everybody-else' },
      scopes: [{ client: 'web', library: 'web' }],
    };
    const { url } = await serveCatalogue(suite, { ...catalogue, auth });
    const ask = (path: string, token?: string): Promise<Response> =>
      fetch(url + path, {
        headers: {
          ...browser,
          ...(token && { Authorization: `Basic ${Buffer.from(`any:${token}`).toString('base64')}` }),
        },
      });
    const refused = await ask('/');
    assert.equal(refused.status, 401);
    assert.match(refused.headers.get('www-authenticate') ?? '', /^Basic realm="Lyceum"/);
    assert.match(await refused.text(), /<h1>A token is needed<\/h1>[\s\S]*in a browser give the token as the password/);
    for (const path of ['/skills', '/skills/twin', '/search.json', '/assets/style.css', '/sources', '/libraries']) {
      assert.equal((await ask(path)).status, 401, path);
    }
    assert.match(await (await ask('/', auth.tokens.all)).text(), /runbook/);
    const narrowed = await (await ask('/', auth.tokens.web)).text();
    assert.doesNotMatch(narrowed, /runbook/);
    assert.match(narrowed, /--header &quot;Authorization: Bearer TOKEN&quot;/);
    assert.match(
      narrowed,
      /the environment variable <code>AGENTS_TOKEN<\/code>:.*--bearer-token-env-var AGENTS_TOKEN</,
    );
    assert.match(narrowed, /sends no token/);
    assert.equal((await ask('/skills/runbook', auth.tokens.web)).status, 404);
    assert.equal((await ask('/skills/runbook/archive', auth.tokens.web)).status, 404);
    assert.equal((await ask('/skills/runbook?library=ops', auth.tokens.web)).status, 404);
    assert.equal((await ask('/sources/ops', auth.tokens.web)).status, 404);
  });
});

describe('where there is nothing', () => {
  it('a browser gets a page, a program JSON', async () => {
    for (const path of ['/skills/nothing', '/nothing/at/all', '/favicon.ico']) {
      const page = await get(path, browser);
      assert.equal(page.status, 404);
      assert.equal(page.headers.get('content-type'), 'text/html; charset=utf-8');
      assert.match(await page.text(), /<h1>Not found<\/h1>/);
      const json = await get(path);
      assert.equal(json.headers.get('content-type'), 'application/json; charset=utf-8');
    }
  });

  it('before a catalogue is there, it says so', async () => {
    const server = await serve(suite, await GatewayFixture.create(suite));
    for (const path of ['/', '/skills/x', '/search.json']) {
      const answer = await fetch(server.url + path, { headers: browser });
      assert.equal(answer.status, 503);
      assert.equal(answer.headers.get('retry-after'), '1');
      assert.match(await answer.text(), /No catalogue is loaded yet/);
    }
  });

  it('an empty catalogue is a page too', async () => {
    const { url } = await serveCatalogue(suite, { sources: [] });
    assert.match(await (await fetch(url)).text(), /No library yet[\s\S]*Nothing is here/);
  });
});

it('a library that is called as the pages are keeps its discovery index', async () => {
  const answer = await get('/skills/.well-known/agent-skills/index.json');
  assert.equal(answer.status, 200);
  const { skills } = (await answer.json()) as { skills: { name: string }[] };
  assert.deepEqual(
    skills.map(({ name }) => name),
    ['named-as-a-route'],
  );
  assert.equal((await get('/skills/.well-known/agent-skills/named-as-a-route/SKILL.md')).status, 200);
});

it('a new catalogue is on the pages without a restart', async () => {
  const fixture = await GatewayFixture.create(suite);
  const skill = (address: string) => ({ address, description: 'x' });
  await fixture.publish({ sources: [{ name: 'a', skills: [skill('before')] }] });
  const { url } = await serve(suite, fixture);
  assert.match(await (await fetch(`${url}/?q=before`)).text(), /1 result for/);
  await fixture.publish({ sources: [{ name: 'a', skills: [skill('afterwards')] }] });
  await until('the new skill is found', async () =>
    /1 result for/.test(await (await fetch(`${url}/?q=afterwards`)).text()),
  );
  assert.match(await (await fetch(`${url}/?q=before`)).text(), /Nothing for/);
});
