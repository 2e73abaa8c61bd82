// Skills over plain HTTP: the discovery index, archives and files, and the real `skills` program installing from them.
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { before, describe, it } from 'node:test';
import { promisify, stripVTControlCharacters } from 'node:util';
import { fromBufferPromise } from 'yauzl';
import { digestOf } from '../../catalogue/digest.ts';
import { skillText } from '../fixtures/operator.ts';
import { type Files, GatewayFixture, lifetime, serve, serveCatalogue, until } from './support/gateway.ts';
import { type Harvested, serveHarvested } from './support/harvested.ts';
import { call, readText } from './support/mcp.ts';

const run = promisify(execFile);
const wellKnown = '/.well-known/agent-skills';

const wide: Files = {
  'SKILL.md': `---\nname: wide\ndescription: Ünïcode — “quoted”.\n---\r\nCRLF stays.\r\n`,
  'references/two words, 100% #1?.md': 'Awkward.\n',
  'references/größe/日本語.txt': 'ok\n',
  'scripts/run.sh': '#!/bin/sh\necho wide\n',
  'assets/empty.txt': '',
  'assets/logo.png': Buffer.from([0x89, 0x50, 0x4e, 0x47, 0xff, 0x00, 0x0d, 0x0a]),
};
const under = (folder: string, files: Files): Files =>
  Object.fromEntries(Object.entries(files).map(([path, content]) => [`${folder}/${path}`, content]));

const long = 'l'.repeat(64);
const pack: Files = {
  ...under('skills/wide', wide),
  'skills/narrow/SKILL.md': skillText('narrow'),
  'skills/team/shared/SKILL.md': skillText('shared', 'Ours.'),
  [`skills/${long}/SKILL.md`]: skillText(long),
  'skills/plain/SKILL.md': 'Not advertised.\n',
  'skills/page/SKILL.md': skillText('page'),
  'skills/page/page.html': '<script>alert(1)</script>',
};

describe('discovery', () => {
  const suite = lifetime();
  let gateway: Harvested;
  let url: string;
  before(async () => {
    gateway = await serveHarvested(suite, {
      pack: { files: pack },
      other: {
        files: { 'skills/shared/SKILL.md': skillText('shared', 'Theirs.'), 'skills/shared/a.md': 'A' },
        spec: { tags: ['ops', 'a b&c'].slice(0, 1) },
      },
    });
    url = gateway.server.url;
  });

  const at = (path: string, init: RequestInit = {}) => fetch(url + path, init);
  const index = async (path = `${wellKnown}/index.json`, init: RequestInit = {}) => {
    const response = await at(path, init);
    assert.equal(response.status, 200);
    return (await response.json()) as { $schema: string; skills: Record<string, string>[] };
  };
  const bytesOf = async (from: string, entryUrl: string) => {
    const response = await fetch(new URL(entryUrl, url + from));
    assert.equal(response.status, 200, entryUrl);
    return Buffer.from(await response.arrayBuffer());
  };
  const suffix = (address: string) => createHash('sha256').update(address).digest('hex').slice(0, 8);

  it('lists what is told of, under names of one skill each, with the digest of what comes', async () => {
    const path = `${wellKnown}/index.json`;
    const { $schema, skills } = await index(path);
    assert.equal($schema, 'https://schemas.agentskills.io/discovery/0.2.0/schema.json');
    assert.deepEqual(
      skills.map(({ name, type, url, description }) => [name, type, url, description]),
      [
        [`shared-${suffix('other/shared')}`, 'archive', `shared-${suffix('other/shared')}.zip`, 'What shared is for.'],
        [long, 'skill-md', `${long}/SKILL.md`, `What ${long} is for.`],
        ['narrow', 'skill-md', 'narrow/SKILL.md', 'What narrow is for.'],
        ['page', 'archive', 'page.zip', 'What page is for.'],
        [
          `shared-${suffix('pack/shared')}`,
          'skill-md',
          `shared-${suffix('pack/shared')}/SKILL.md`,
          'What shared is for.',
        ],
        ['wide', 'archive', 'wide.zip', 'Ünïcode — “quoted”.'],
      ],
    );
    for (const { url, digest } of skills) assert.equal(digestOf(await bytesOf(path, url!)), digest, url);
  });

  it('is a resource too, which is not listed', async () => {
    const { $schema, skills } = JSON.parse((await readText(url, 'skill://index.json'))!);
    assert.match($schema, /0\.2\.0/);
    assert.deepEqual(
      skills.map(({ url }: { url: string }) => url),
      ['other/shared', `pack/${long}`, 'pack/narrow', 'pack/page', 'pack/shared', 'pack/wide'].map(
        (address) => `skill://${address}/SKILL.md`,
      ),
    );
    for (const { type, url: uri, digest } of skills) {
      assert.equal(type, 'skill-md');
      assert.equal(digestOf((await readText(url, uri))!), digest);
    }
    const scoped = JSON.parse((await readText(url, 'skill://index.json', { query: '?library=other' }))!);
    assert.deepEqual(
      scoped.skills.map(({ name }: { name: string }) => name),
      ['shared'],
    );
    const { body } = await call(url, 'resources/list', {}, { query: '?skills=full' });
    assert.ok(!JSON.stringify(body).includes('index.json'));
  });

  it('names a skill bare where its rival is out of scope, and carries the scope in its URLs', async () => {
    const names = async (path: string, init?: RequestInit) => (await index(path, init)).skills.map(({ name }) => name);
    const [entry] = (await index(`${wellKnown}/index.json?library=other&tags=ops,none`)).skills;
    assert.deepEqual([entry!.name, entry!.url], ['shared', 'shared.zip?library=other&tags=none%2Cops']);
    assert.equal(digestOf(await bytesOf(`${wellKnown}/index.json`, entry!.url!)), entry!.digest);

    const byHeader = await index(`${wellKnown}/index.json?library=pack`, { headers: { 'x-skill-library': 'other' } });
    assert.deepEqual(
      byHeader.skills.map(({ url }) => url),
      ['shared.zip?library=other'],
    );
    assert.deepEqual(await names(`/other${wellKnown}/index.json`), ['shared']);
    assert.deepEqual(await names(`/team${wellKnown}/index.json`), ['shared']);
    assert.deepEqual(await names(`/pack${wellKnown}/index.json?library=other`), []);
    assert.deepEqual(await names(`/pack${wellKnown}/index.json?tags=ops`), []);
    assert.deepEqual(await names(`/nowhere${wellKnown}/index.json`), []);
    assert.deepEqual(await names(`${wellKnown}/index.json?library=nowhere`), []);
    const path = `/other${wellKnown}/index.json`;
    const [scoped] = (await index(path)).skills;
    assert.equal(scoped!.url, 'shared.zip');
    assert.equal(digestOf(await bytesOf(path, scoped!.url!)), scoped!.digest);
  });

  it('serves archives that unpack to the skill, byte for byte', async () => {
    const archive = await bytesOf(`${wellKnown}/index.json`, 'wide.zip');
    assert.deepEqual(await unpacked(archive), sortedFiles(wide));
    const head = await at(`${wellKnown}/wide.zip`, { method: 'HEAD' });
    assert.equal(head.status, 200);
    assert.equal(Number(head.headers.get('content-length')), archive.length);
    assert.equal(head.headers.get('content-type'), 'application/zip');
    assert.equal(head.headers.get('content-disposition'), 'attachment; filename="wide.zip"');
    // A skill of one file has an archive too, for whoever asks for it.
    assert.deepEqual(await unpacked(await bytesOf(`${wellKnown}/index.json`, 'narrow.zip')), [
      ['SKILL.md', skillText('narrow')],
    ]);
  });

  it('serves single files in the form of a listing or raw, each with its own type', async () => {
    const file = async (path: string) => {
      const response = await at(`${wellKnown}/${path}`);
      const { headers, status } = response;
      return [status, headers.get('content-type'), Buffer.from(await response.arrayBuffer()).toString()];
    };
    assert.deepEqual(await file('wide/SKILL.md'), [200, 'text/markdown; charset=utf-8', wide['SKILL.md']]);
    assert.deepEqual(await file('wide/references/two%20words%2C%20100%25%20%231%3F.md'), [
      200,
      'text/markdown; charset=utf-8',
      'Awkward.\n',
    ]);
    assert.deepEqual(await file('wide/references/gr%C3%B6%C3%9Fe/%E6%97%A5%E6%9C%AC%E8%AA%9E.txt'), [
      200,
      'text/plain; charset=utf-8',
      'ok\n',
    ]);
    assert.deepEqual((await file('wide/assets/logo.png')).slice(0, 2), [200, 'image/png']);
    assert.deepEqual(await file('wide/assets/empty.txt'), [200, 'text/plain; charset=utf-8', '']);
    const head = await at(`${wellKnown}/wide/scripts/run.sh`, { method: 'HEAD' });
    assert.equal(head.headers.get('content-length'), String((wide['scripts/run.sh'] as string).length));
  });

  it('lets no browser run what it serves', async () => {
    for (const path of ['page/page.html', 'page.zip', 'index.json', 'none.zip']) {
      const { headers } = await at(`${wellKnown}/${path}`);
      assert.equal(headers.get('content-security-policy'), "default-src 'none'; sandbox", path);
      assert.equal(headers.get('x-content-type-options'), 'nosniff', path);
      assert.match(headers.get('cache-control')!, /^private/, path);
    }
  });

  it('answers whoever has it already without sending it again', async () => {
    for (const path of ['index.json', 'index.json?library=pack', 'wide.zip', 'wide/SKILL.md', 'wide/assets/logo.png']) {
      const first = await at(`${wellKnown}/${path}`);
      const tag = first.headers.get('etag')!;
      await first.arrayBuffer();
      assert.match(tag, /^"[0-9a-f]{64}"$/, path);
      for (const known of [tag, `W/${tag}`, `"other", ${tag}`, '*']) {
        const again = await at(`${wellKnown}/${path}`, { headers: { 'if-none-match': known } });
        assert.equal(again.status, 304, `${path} ${known}`);
        assert.equal(again.headers.get('etag'), tag);
        assert.equal((await again.arrayBuffer()).byteLength, 0);
      }
      assert.equal((await at(`${wellKnown}/${path}`, { headers: { 'if-none-match': '"other"' } })).status, 200, path);
    }
    const tags = await Promise.all(
      ['', '?library=pack', '?library=other'].map(async (query) =>
        (await at(`${wellKnown}/index.json${query}`)).headers.get('etag'),
      ),
    );
    assert.equal(new Set(tags).size, 3);
  });

  it('has nothing at any other path, and says the same of what is out of scope', async () => {
    const refused = async (path: string) => {
      const response = await at(path);
      return [response.status, await response.text()];
    };
    const unknown = await refused(`${wellKnown}/none.zip`);
    assert.equal(unknown[0], 404);
    for (const path of [
      'plain.zip',
      'plain/SKILL.md',
      'shared.zip',
      'shared/SKILL.md',
      'wide',
      'wide/',
      'wide.zip/',
      'wide.zip.zip',
      '.zip',
      'wide/none.md',
      'wide/references',
      'wide/_manifest',
      'wide//SKILL.md',
      'wide/%53KILL.md',
      'narrow/%2e%2e%2fwide/SKILL.md',
      'narrow/..%2fwide/SKILL.md',
      'wide%2fSKILL.md',
      'wide.zip?library=other',
      'wide/SKILL.md?tags=ops',
    ]) {
      assert.deepEqual(await refused(`${wellKnown}/${path}`), unknown, path);
    }
    assert.deepEqual(await refused(`/other${wellKnown}/wide.zip`), unknown);
    assert.deepEqual(await refused(`/pack${wellKnown}/shared/SKILL.md?library=other`), unknown);
  });

  it('installs by `npx skills add`: every file of every skill as it is upstream', async () => {
    const { installed } = await add(url, '--skill', '*');
    assert.deepEqual(
      [...installed.keys()].sort(),
      [`shared-${suffix('other/shared')}`, long, 'narrow', 'page', `shared-${suffix('pack/shared')}`, 'wide'].sort(),
    );
    assert.deepEqual(installed.get('wide'), sortedFiles(wide));
    assert.deepEqual(installed.get('narrow'), [['SKILL.md', skillText('narrow')]]);
    assert.deepEqual(installed.get(`shared-${suffix('other/shared')}`), [
      ['SKILL.md', skillText('shared', 'Theirs.')],
      ['a.md', 'A'],
    ]);
  });

  it('installs by `npx skills add` from one library, whose name stands in the path', async () => {
    const { installed } = await add(`${url}/other`, '--skill', '*');
    assert.deepEqual([...installed.keys()], ['shared']);
    const nothing = await add(`${url}/nowhere`, '--skill', '*').catch((error: { stdout: string }) => error);
    assert.ok('stdout' in nothing);
    assert.match(stripVTControlCharacters(nothing.stdout), /No (matching )?skills/);
  });

  it('moves with the catalogue', async () => {
    const before = await at(`${wellKnown}/index.json`);
    const tag = before.headers.get('etag')!;
    await before.arrayBuffer();
    await gateway.write('pack', { 'skills/wide/scripts/run.sh': '#!/bin/sh\necho wider\n' });
    await until('the index is another', async () => {
      const response = await at(`${wellKnown}/index.json`, { headers: { 'if-none-match': tag } });
      await response.arrayBuffer();
      return response.status === 200;
    });
    const entry = (await index()).skills.find(({ name }) => name === 'wide')!;
    const archive = await bytesOf(`${wellKnown}/index.json`, entry.url!);
    assert.equal(digestOf(archive), entry.digest);
    assert.ok(archive.includes('echo wider'));
  });
});

it('a gateway without a catalogue says so, and nobody is told of a skill', async (t) => {
  const fixture = await GatewayFixture.create(t);
  const server = await serve(t, fixture);
  for (const path of ['index.json', 'a.zip', 'a/SKILL.md']) {
    const response = await fetch(`${server.url}${wellKnown}/${path}`);
    assert.equal(response.status, 503, path);
    assert.equal(response.headers.get('retry-after'), '1');
  }
});

it('ceilings of the gateway and of a token hold on indexes, archives and files, whatever a request says', async (t) => {
  const tokens = { narrow: 'token-of-the-narrow-one', wide: 'token-of-the-wide-one' };
  const server = await serveCatalogue(t, {
    sources: ['one', 'two', 'three'].map((name) => ({
      name,
      skills: [{ address: `${name}-skill`, description: name, files: { 'a.md': name } }],
      tags: name === 'three' ? [] : ['inner'],
    })),
    scope: { tags: ['inner'] },
    auth: { tokens, scopes: [{ client: 'narrow', library: 'one' }] },
  });
  const at = async (path: string, client?: keyof typeof tokens, headers: Record<string, string> = {}) =>
    await fetch(server.url + path, {
      headers: { ...headers, ...(client === undefined ? {} : { authorization: `Bearer ${tokens[client]}` }) },
    });
  const names = async (path: string, client: keyof typeof tokens, headers?: Record<string, string>) => {
    const { skills } = (await (await at(path, client, headers)).json()) as { skills: { name: string }[] };
    return skills.map(({ name }) => name);
  };
  const index = `${wellKnown}/index.json`;
  assert.deepEqual(await names(index, 'wide'), ['one-skill', 'two-skill']);
  assert.deepEqual(await names(index, 'narrow'), ['one-skill']);
  for (const library of ['two', 'three']) {
    const files = [`${library}-skill.zip`, `${library}-skill/SKILL.md`, `${library}-skill/a.md`];
    assert.deepEqual(await names(`/${library}${index}`, 'narrow'), []);
    assert.deepEqual(await names(`${index}?library=one&library=${library}`, 'narrow'), []);
    assert.deepEqual(await names(index, 'narrow', { 'x-skill-library': library }), []);
    for (const file of files) {
      for (const path of [`${wellKnown}/${file}`, `/${library}${wellKnown}/${file}`]) {
        assert.equal((await at(path, 'narrow')).status, 404, path);
        assert.equal((await at(path, 'narrow', { 'x-skill-pack': library })).status, 404, path);
      }
    }
  }
  assert.deepEqual(await names(`/three${index}`, 'wide'), []);
  assert.deepEqual(await names(`${index}?tags=three`, 'wide'), []);
  assert.equal((await at(`/three${wellKnown}/three-skill.zip`, 'wide')).status, 404);
  for (const path of [index, `/one${index}`, `${wellKnown}/one-skill.zip`, `${wellKnown}/none/x`]) {
    assert.equal((await at(path)).status, 401, path);
  }
});

it('downloads count as reads of skills; what is not sent does not', async (t) => {
  const catalogue = {
    sources: [{ name: 'pack', skills: [{ address: 'one', description: 'One.', files: { a: 'a' } }] }],
  };
  const server = await serveCatalogue(t, catalogue, { metricsPort: 0 });
  const ask = async (path: string, init?: RequestInit) =>
    await (await fetch(`${server.url}${wellKnown}/${path}`, init)).arrayBuffer();
  for (const path of ['one.zip', 'one/SKILL.md', 'one/a']) await ask(path);
  await ask('index.json');
  await ask('one.zip', { method: 'HEAD' });
  await ask('one/a', { headers: { 'if-none-match': '*' } });
  await ask('one/none');
  const metrics = await (await fetch(`${server.metricsUrl}/metrics`)).text();
  assert.match(metrics, /^lyceum_reads_total\{kind="skill",library="pack"\} 3$/m);
});

it('an archive is the same whatever server makes it, to the last byte', async (t) => {
  const skill = { address: 'fixed', description: 'Fixed.', files: { 'b/ä.md': 'ä\n', 'a.bin': Buffer.from([0, 255]) } };
  const digests = new Set<string>();
  for (let replica = 0; replica < 2; replica++) {
    const server = await serveCatalogue(t, { sources: [{ name: 'pack', skills: [skill] }] });
    const response = await fetch(`${server.url}${wellKnown}/fixed.zip`);
    digests.add(digestOf(Buffer.from(await response.arrayBuffer())));
  }
  // Whoever installed a skill is told of a change where this moves: it never does for the same files.
  assert.deepEqual([...digests], ['sha256:1484e33c1c5988fbddf1eb2f23a21a0ae6ba457a3d776d8ac09e246bb667f5c2']);
});

it('a name that somebody made to look like another’s does not take it', async (t) => {
  const taken = `twin-${createHash('sha256').update('one/twin').digest('hex').slice(0, 8)}`;
  const server = await serveCatalogue(t, {
    sources: [
      { name: 'one', skills: [{ address: 'twin', description: 'One.' }] },
      { name: 'two', skills: [{ address: 'twin', description: 'Two.' }] },
      { name: 'zoo', skills: [{ address: taken, description: 'Taken.' }] },
    ],
  });
  const response = await fetch(`${server.url}${wellKnown}/index.json`);
  const { skills } = (await response.json()) as { skills: { name: string; description: string }[] };
  const names = skills.map(({ name, description }) => [name, description]);
  const more = createHash('sha256').update('one/twin').digest('hex').slice(0, 16);
  const two = createHash('sha256').update('two/twin').digest('hex').slice(0, 8);
  assert.deepEqual(names, [
    [`twin-${more}`, 'One.'],
    [`twin-${two}`, 'Two.'],
    [taken, 'Taken.'],
  ]);
  for (const { name } of skills) assert.match(name, /^[a-z0-9]+(-[a-z0-9]+)*$/);
});

it('many downloads of a large skill at once all end whole, whoever goes away in the middle', async (t) => {
  const large = Buffer.alloc(4 * 1024 * 1024, 7);
  const files = { 'a.bin': large };
  const server = await serveCatalogue(t, {
    sources: [{ name: 'pack', skills: [{ address: 'large', description: 'L', files }] }],
  });
  const download = async (whole: boolean): Promise<void> => {
    const response = await fetch(`${server.url}${wellKnown}/large.zip`);
    if (!whole) return await response.body!.cancel();
    assert.equal((await response.arrayBuffer()).byteLength, Number(response.headers.get('content-length')));
  };
  await Promise.all(Array.from({ length: 24 }, (_, nth) => download(nth % 3 > 0)));
  const file = await fetch(`${server.url}${wellKnown}/large/a.bin`);
  assert.equal((await file.arrayBuffer()).byteLength, large.length);
});

async function unpacked(archive: Buffer): Promise<[string, string][]> {
  const zip = await fromBufferPromise(archive, { strictFileNames: true });
  const files: [string, string][] = [];
  for await (const entry of zip.eachEntry()) {
    const chunks: Buffer[] = [];
    for await (const chunk of await zip.openReadStreamPromise(entry)) chunks.push(chunk as Buffer);
    files.push([entry.fileName, Buffer.concat(chunks).toString('latin1')]);
  }
  return files.map(([path, content]) => [path, Buffer.from(content, 'latin1').toString()]);
}

const sortedFiles = (files: Files): [string, string][] =>
  Object.entries(files)
    .map(([path, content]): [string, string] => [path, Buffer.from(content as string).toString()])
    .sort(([a], [b]) => (a < b ? -1 : 1));

/** Runs the real `skills` program in a folder and a home of its own. @returns what it has put there, by skill */
async function add(source: string, ...options: string[]): Promise<{ installed: Map<string, [string, string][]> }> {
  const home = await mkdtemp(join(tmpdir(), 'lyceum-skills-'));
  try {
    const program = join(import.meta.dirname, '../../node_modules/.bin/skills');
    const url = source.replace('127.0.0.1', 'localhost');
    const args = ['add', url, '--yes', '--copy', '--agent', 'claude-code', ...options];
    const env = { PATH: process.env.PATH, HOME: home, DO_NOT_TRACK: '1', DISABLE_TELEMETRY: '1', CI: '1' };
    await run(program, args, { cwd: home, env, timeout: 60_000 });
    const root = join(home, '.claude/skills');
    const installed = new Map<string, [string, string][]>();
    for (const name of await readdir(root)) {
      const files: Files = {};
      for (const entry of await readdir(join(root, name), { recursive: true, withFileTypes: true })) {
        if (!entry.isFile()) continue;
        const path = join(entry.parentPath, entry.name);
        files[path.slice(join(root, name).length + 1)] = await readFile(path);
      }
      installed.set(name, sortedFiles(files));
    }
    return { installed };
  } finally {
    await rm(home, { recursive: true, force: true });
  }
}
