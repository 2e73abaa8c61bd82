// OCI artifacts against a real registry: every shape that skills are published in, what a look costs, who may read.
import assert from 'node:assert/strict';
import { after, before, beforeEach, describe, test } from 'node:test';
import { gzipSync, zstdCompressSync } from 'node:zlib';
import { testCertificates } from '../fixtures/certificates.ts';
import { newMemory } from '../fixtures/git-look.ts';
import { fault } from '../fixtures/http.ts';
import { lookOci, probeOci } from '../fixtures/oci-look.ts';
import {
  digestOf,
  ociType,
  type RegistryFixture,
  registryLogin,
  registryRequests,
  startRegistry,
} from '../fixtures/registry-server.ts';
import { type TestTarEntry, tarOf } from '../fixtures/tar.ts';

const texts = (files: ReadonlyMap<string, Buffer>): Record<string, string> =>
  Object.fromEntries([...files].map(([path, bytes]) => [path, bytes.toString()] as const).sort());

const file = (name: string, content: string | Buffer = name): TestTarEntry => ({ name, content });
const layer = (...entries: TestTarEntry[]) => ({ bytes: gzipSync(tarOf(entries)) });
const titled = (title: string, bytes: Buffer | string, mediaType = 'text/markdown') => ({
  bytes,
  mediaType,
  annotations: { 'org.opencontainers.image.title': title },
});
const titleOf = 'org.opencontainers.image.title';

describe('an artifact that everybody may read', () => {
  let registry: RegistryFixture;
  const look = (reference: string, options: Parameters<typeof lookOci>[1] = {}) =>
    lookOci(registry.sourceUrl(reference), options);
  before(async () => {
    registry = await startRegistry();
  });
  beforeEach(() => registry.reset());
  after(() => registry.close());

  const odd = Buffer.from([0, 0xff, 0xfe, 13, 10, 0x80]);

  for (const [what, pack] of Object.entries({
    'a tar': (bytes: Buffer) => ({ bytes, mediaType: ociType.tar }),
    'a gzipped tar': (bytes: Buffer) => ({ bytes: gzipSync(bytes) }),
    'a tar packed with zstd': (bytes: Buffer) => ({ bytes: zstdCompressSync(bytes), mediaType: ociType.tarZstd }),
    "a tar of Docker's type": (bytes: Buffer) => ({
      bytes: gzipSync(bytes),
      mediaType: 'application/vnd.docker.image.rootfs.diff.tar.gzip',
    }),
    "a tar of a publisher's own type": (bytes: Buffer) => ({
      bytes: gzipSync(bytes),
      mediaType: 'application/vnd.agent.skill.content.v1.tar+gzip',
    }),
    'a tar that is called gzipped and is not': (bytes: Buffer) => ({ bytes }),
  })) {
    test(`${what} comes byte by byte`, async () => {
      const tar = tarOf([file('SKILL.md', '\ufeffskill\r\n'), file('./a/logo.png', odd), file('empty.txt', '')]);
      const digest = await registry.push('team/skills', 'v1', [pack(tar)]);
      const found = await look('team/skills:v1');
      assert.deepEqual([...found.files.keys()].sort(), ['SKILL.md', 'a/logo.png', 'empty.txt']);
      assert.deepEqual(found.files.get('a/logo.png'), odd);
      assert.equal(found.files.get('SKILL.md')?.toString(), '\ufeffskill\r\n');
      assert.equal(found.entries.find(({ path }) => path === 'a/logo.png')?.id, digestOf(odd));
      assert.equal(found.revision, `v1@${digest}`);
      assert.equal(found.probed, found.revision);
      assert.deepEqual(found.problems, []);
    });
  }

  test('without a tag it is latest; a digest is that one, and nobody is asked whether it has moved', async () => {
    const digest = await registry.push('plain', 'latest', [layer(file('a.md'))]);
    assert.equal((await look('plain')).revision, `latest@${digest}`);
    await registry.push('plain', 'latest', [layer(file('b.md'))]);
    registry.exchanges.length = 0;
    assert.equal(await probeOci(registry.sourceUrl(`plain@${digest}`)), digest);
    assert.equal(await probeOci(registry.sourceUrl(`plain:v7@${digest}`)), `v7@${digest}`);
    assert.deepEqual(registry.exchanges, []);
    assert.deepEqual(texts((await look(`plain@${digest}`)).files), { 'a.md': 'a.md' });
  });

  test('an index gives the manifest for linux on amd64, else the first; attestations are passed over', async () => {
    const manifestOf = async (name: string, platform?: object) => {
      const digest = await registry.push('many', name, [layer(file(`${name}.md`))]);
      const bytes = await fetch(`${registry.origin}/v2/many/manifests/${digest}`, {
        headers: { accept: ociType.manifest },
      });
      return {
        mediaType: ociType.manifest,
        digest,
        size: (await bytes.arrayBuffer()).byteLength,
        ...(platform && { platform }),
      };
    };
    const arm = await manifestOf('arm', { os: 'linux', architecture: 'arm64' });
    const amd = await manifestOf('amd', { os: 'linux', architecture: 'amd64' });
    const attestation = await manifestOf('attestation', { os: 'unknown', architecture: 'unknown' });
    const index = (...manifests: object[]) => ({ schemaVersion: 2, artifactType: 'dev.toolhive.skills.v1', manifests });
    const both = await registry.manifest('many', 'both', index(attestation, arm, amd), ociType.index);
    assert.deepEqual(texts((await look('many:both')).files), { 'amd.md': 'amd.md' });
    assert.equal((await look('many:both')).revision, `both@${both}`);
    await registry.manifest('many', 'one', index(attestation, arm), ociType.index);
    assert.deepEqual(texts((await look('many:one')).files), { 'arm.md': 'arm.md' });
    await registry.manifest('many', 'none', index(attestation), ociType.index);
    await assert.rejects(look('many:none'), fault('UpstreamInvalid', /names nothing to read/));
  });

  test('layers that are files stand at their titles, and are fetched only where they are wanted', async () => {
    const artifactType = 'application/vnd.agentskills.skill.v1';
    await registry.push(
      'files',
      'x',
      [titled('SKILL.md', 'skill'), titled('a/b.bin', odd, 'application/octet-stream'), titled('c.md', 'c')],
      { artifactType },
    );
    const found = await look('files:x', { want: ({ path }) => path !== 'c.md' });
    assert.deepEqual([...found.files.keys()].sort(), ['SKILL.md', 'a/b.bin']);
    assert.deepEqual(found.files.get('a/b.bin'), odd);
    assert.equal(registryRequests(registry).filter((one) => one.includes('/blobs/')).length, 2);
  });

  test('a file that nobody has given a type, which oras calls a tar, is a file', async () => {
    const folder = gzipSync(tarOf([file('docs/a.md', 'a')]));
    await registry.push('oras', 'x', [
      titled('SKILL.md', 'skill', ociType.tar),
      titled('notes.gz', gzipSync('notes'), ociType.tar),
      { bytes: folder, annotations: { [titleOf]: 'docs', 'io.deis.oras.content.unpack': 'true' } },
      titled('pack.tar.gz', gzipSync(tarOf([file('from-pack.md')])), ociType.tarGzip),
    ]);
    const memory = newMemory();
    const first = await look('oras:x', { memory });
    assert.deepEqual([...first.files.keys()].sort(), ['SKILL.md', 'docs/a.md', 'from-pack.md', 'notes.gz']);
    assert.equal(first.files.get('SKILL.md')?.toString(), 'skill');
    assert.deepEqual(first.files.get('notes.gz'), gzipSync('notes'));
    assert.deepEqual((await look('oras:x', { memory })).files, first.files, 'remembered as well');
  });

  test('a layer that is neither a tar nor a file by its title is told of; an empty one is not', async () => {
    await registry.push('odd', 'x', [
      { bytes: '{}', mediaType: ociType.empty },
      { bytes: '{"a":1}', mediaType: 'application/vnd.dev.cosign.simplesigning.v1+json' },
      layer(file('a.md')),
    ]);
    const { files, problems } = await look('odd:x');
    assert.deepEqual(texts(files), { 'a.md': 'a.md' });
    assert.deepEqual(
      problems.map(({ reason }) => reason),
      ['BadEntry'],
    );
    assert.match(problems[0]!.message, /simplesigning.*is no tar/);
  });

  test('layers lie over one another: later files win, whiteouts take away, what is opaque begins anew', async () => {
    await registry.push('image', 'x', [
      layer(
        file('SKILL.md', 'old'),
        file('gone.md'),
        file('folder/gone.md'),
        file('folder/kept.md'),
        file('whole/a.md'),
        file('opaque/a.md'),
        file('opaque/deep/b.md'),
        file('was-file'),
        file('was-folder/a.md'),
      ),
      layer(
        file('opaque/new.md'),
        file('SKILL.md', 'new'),
        file('.wh.gone.md', ''),
        file('folder/.wh.gone.md', ''),
        file('.wh.whole', ''),
        file('opaque/.wh..wh..opq', ''),
        file('.wh..wh.plnk', ''),
        file('.wh.was-folder', ''),
        file('was-folder', 'file'),
        file('was-file/inside.md'),
      ),
      layer(file('SKILL.md', 'newest'), file('SKILL.md', 'and the last of its layer')),
    ]);
    const { files, problems } = await look('image:x');
    assert.deepEqual(texts(files), {
      'SKILL.md': 'and the last of its layer',
      'folder/kept.md': 'folder/kept.md',
      'opaque/new.md': 'opaque/new.md',
      'was-file/inside.md': 'was-file/inside.md',
      'was-folder': 'file',
    });
    assert.deepEqual(problems, []);
  });

  test('links inside are followed; those that lead out, or nowhere, are told by name', async () => {
    const link = (name: string, target: string): TestTarEntry => ({ name, type: '2', target });
    const hard = (name: string, target: string): TestTarEntry => ({ name, type: '1', target });
    await registry.push('links', 'x', [
      layer(file('lower.md'), file('a/real.md', 'real')),
      layer(
        link('AGENTS.md', 'a/real.md'),
        link('a/up.md', '../lower.md'),
        link('b', 'a'),
        link('absolute.md', '/a/real.md'),
        link('out.md', '../../etc/passwd'),
        link('nowhere.md', '/etc/passwd'),
        link('loop', 'loop'),
        file('own.md', 'own'),
        hard('hard.md', './own.md'),
        hard('hard-lower.md', '/lower.md'),
        hard('hard-out.md', '../../etc/passwd'),
        hard('hard-nowhere.md', 'etc/passwd'),
      ),
    ]);
    const { files, problems } = await look('links:x');
    assert.deepEqual(texts(files), {
      'AGENTS.md': 'real',
      'a/real.md': 'real',
      'a/up.md': 'lower.md',
      'absolute.md': 'real',
      'b/real.md': 'real',
      'b/up.md': 'lower.md',
      'hard-lower.md': 'lower.md',
      'hard.md': 'own',
      'lower.md': 'lower.md',
      'own.md': 'own',
    });
    assert.deepEqual(problems.map(({ reason, path }) => `${reason} ${path}`).sort(), [
      'LinkBroken .',
      'LinkBroken hard-nowhere.md',
      'LinkEscapes hard-out.md',
      'LinkEscapes out.md',
    ]);
  });

  test('names that are no paths, and what is no file, are told by name and cost nothing else', async () => {
    await registry.push('names', 'x', [
      layer(
        file('ok.md'),
        file('/etc/absolute.md'),
        file('a/../../up.md'),
        file('b\\c.md'),
        file('line\nbreak.md'),
        { name: Buffer.from([0x61, 0xff, 0x62]), content: 'x' },
        { name: 'pipe', type: '6' },
        { name: 'device', type: '3' },
        file('.wh...', ''),
        file('.wh.', ''),
        file('x'.repeat(99)),
        { name: '././@LongLink', type: 'L', content: `${'long/'.repeat(50)}name.md\0` },
        file('short'),
        { name: 'PaxHeader', type: 'x', content: '23 path=größe 漢字\n' },
        file('plain'),
        file('A.md'),
        file('a.md'),
      ),
      titled('../escape.md', 'escape'),
      titled('/root.md', 'root'),
    ]);
    const { files, problems } = await look('names:x');
    assert.deepEqual(
      [...files.keys()].sort(),
      ['A.md', 'a.md', `${'long/'.repeat(50)}name.md`, 'größe 漢字', 'ok.md', 'x'.repeat(99)].sort(),
    );
    assert.deepEqual(problems.map(({ reason, path }) => `${reason} ${path}`).sort(), [
      'BadFileName ../escape.md',
      'BadFileName .wh.',
      'BadFileName .wh...',
      'BadFileName /etc/absolute.md',
      'BadFileName /root.md',
      'BadFileName a/../../up.md',
      'BadFileName a\ufffdb',
      'BadFileName b\\c.md',
      'BadFileName line\\u000abreak.md',
      'SpecialFile device',
      'SpecialFile pipe',
    ]);
  });

  test('nothing changed costs one HEAD, after a restart too; a new layer alone is fetched, and a new file alone is read', async () => {
    const base = layer(file('skills/a/SKILL.md', 'a'), file('skills/b/SKILL.md', 'b'));
    const [memory, known] = [newMemory(), new Map<string, Buffer>()];
    await registry.push('moving', 'x', [base, layer(file('c.md', 'c'))]);
    const first = await look('moving:x', { memory, known });
    registry.exchanges.length = 0;
    assert.equal(await probeOci(registry.sourceUrl('moving:x'), { memory: newMemory(memory.bytes) }), first.revision);
    assert.deepEqual(registryRequests(registry), ['HEAD moving/manifests/x']);

    const changed = layer(file('c.md', 'new'), file('skills/a/SKILL.md', 'a'));
    await registry.push('moving', 'x', [base, changed]);
    registry.exchanges.length = 0;
    const read: string[] = [];
    const again = await look('moving:x', {
      memory: newMemory(memory.bytes),
      known,
      want: ({ id, path }) => {
        if (!known.has(id!)) read.push(path);
        return true;
      },
    });
    assert.deepEqual(read, ['c.md']);
    assert.deepEqual(texts(again.files), { 'c.md': 'new', 'skills/a/SKILL.md': 'a', 'skills/b/SKILL.md': 'b' });
    assert.deepEqual(registryRequests(registry), [
      'HEAD moving/manifests/x',
      'GET moving/manifests/x',
      `GET moving/blobs/${digestOf(changed.bytes).slice(0, 15)}`,
    ]);
    const forgot = await look('moving:x', { memory });
    assert.deepEqual(
      texts(forgot.files),
      texts(again.files),
      'a layer that is known is fetched where its bytes are not',
    );
    const damaged = await look('moving:x', { memory: newMemory(Buffer.from('damaged')) });
    assert.deepEqual(texts(damaged.files), texts(again.files));
  });

  test('what is not there is NotFound, and says what to check', async () => {
    await registry.push('there', 'x', [layer(file('a.md'))]);
    for (const reference of ['there:y', 'elsewhere:x', `there@sha256:${'0'.repeat(64)}`]) {
      await assert.rejects(look(reference, { force: true }), fault('NotFound', /check spec\.url and spec\.secretRef/));
    }
    await assert.rejects(probeOci(registry.sourceUrl('there:y')), fault('NotFound', /no tag "y" of there/));
  });

  test('a file over fileSize is told by name; too much in all fails by the field that raises it', async () => {
    const big = Buffer.alloc(5000, 'x');
    await registry.push('large', 'x', [layer(file('big.md', big), file('a.md')), titled('big.bin', big)]);
    const { files, tooLarge } = await look('large:x', { limits: { fileSize: 4000 } });
    assert.deepEqual(texts(files), { 'a.md': 'a.md' });
    assert.deepEqual([...tooLarge].sort(), [
      ['big.bin', 5000],
      ['big.md', 5000],
    ]);
    await assert.rejects(
      look('large:x', { limits: { totalSize: 5000 } }),
      fault('LimitExceeded', /spec\.limits\.totalSize/),
    );
    registry.exchanges.length = 0;
    await assert.rejects(
      look('large:x', { limits: { totalSize: 50 } }),
      fault('LimitExceeded', /have \d+ bytes, packed, .*spec\.limits\.totalSize/),
    );
    assert(!registryRequests(registry).some((one) => one.includes('/blobs/')), 'before anything is fetched');
  });
});

describe('a registry behind a password', () => {
  let registry: RegistryFixture;
  before(async () => {
    registry = await startRegistry({ access: 'password' });
    await registry.push('team/a', 'x', [layer(file('a.md'))]);
  });
  beforeEach(() => registry.reset());
  after(() => registry.close());
  const { username, password } = registryLogin;
  const read = (secret?: Record<string, string>) =>
    lookOci(registry.sourceUrl('team/a:x'), { ...(secret && { secret }) });
  const dockerConfig = (auths: object) => ({ '.dockerconfigjson': JSON.stringify({ auths }) });
  const auth = Buffer.from(`${username}:${password}`).toString('base64');

  test('is shown the password once it has asked, in any form of the Secret', async () => {
    for (const secret of [
      { username, password: `${password}\n` },
      dockerConfig({ [registry.host]: { username, password } }),
      dockerConfig({ [registry.host]: { auth } }),
      dockerConfig({ [`http://${registry.host}/v2/`]: { auth } }),
      dockerConfig({ [registry.host]: { auth: 'eDp5' }, [`${registry.host}/team`]: { auth }, 'docker.io': {} }),
    ]) {
      registry.exchanges.length = 0;
      assert.deepEqual(texts((await read(secret)).files), { 'a.md': 'a.md' });
      const [first, ...others] = registry.exchanges.map(({ authorization }) => authorization);
      assert.equal(first, undefined);
      assert(others.every((shown) => shown === `Basic ${auth}`));
    }
  });

  test('without credentials, or with wrong ones, it is AuthenticationFailed; a Secret without any is SecretNotFound', async () => {
    await assert.rejects(read(), fault('AuthenticationFailed', /spec\.secretRef/));
    await assert.rejects(read({ username, password: 'canary-wrong' }), fault('AuthenticationFailed'));
    for (const [secret, words] of [
      [{ username }, /lacks password/],
      [{ password }, /lacks username/],
      [{ token: 'x' }, /lacks \.dockerconfigjson, or username and password/],
      [dockerConfig({ 'other.example.com': { auth } }), /lacks an entry for 127\.0\.0\.1:\d+ in \.dockerconfigjson/],
      [dockerConfig({ [registry.host]: { auth: 'eA==' } }), /lacks a username and a password for/],
      [{ '.dockerconfigjson': 'canary{' }, /lacks \.dockerconfigjson \(a JSON object with auths\)/],
    ] as const) {
      registry.exchanges.length = 0;
      await assert.rejects(read(secret as Record<string, string>), (error: Error & { reason?: string }) => {
        assert.equal(error.reason, 'SecretNotFound');
        assert.match(error.message, words);
        assert.doesNotMatch(error.message, /canary/);
        return true;
      });
      assert.deepEqual(registry.exchanges, []);
    }
  });
});

describe('a registry that wants tokens', () => {
  let registry: RegistryFixture;
  before(async () => {
    registry = await startRegistry({ access: 'tokens' });
    await registry.push('public/a', 'x', [layer(file('a.md'))]);
    await registry.push('private/a', 'x', [layer(file('a.md'))]);
  });
  beforeEach(() => registry.reset());
  after(() => registry.close());
  const { username, password } = registryLogin;

  test('sends for one, to which nothing is shown where there is nothing; one serves the whole look', async () => {
    assert.deepEqual(texts((await lookOci(registry.sourceUrl('public/a:x'))).files), { 'a.md': 'a.md' });
    assert.equal(registry.tokenRequests.length, 1);
    const [{ query, authorization } = { query: new URLSearchParams() }] = registry.tokenRequests;
    assert.equal(query.get('scope'), 'repository:public/a:pull');
    assert.equal(query.get('service'), 'canary-service');
    assert.equal(authorization, undefined);
    assert(
      registry.exchanges.every(
        ({ authorization }) => authorization === undefined || authorization.startsWith('Bearer '),
      ),
    );
  });

  test('the password goes to the token server, never to the registry', async () => {
    const secret = { username, password };
    assert.deepEqual(texts((await lookOci(registry.sourceUrl('private/a:x'), { secret })).files), { 'a.md': 'a.md' });
    assert.match(registry.tokenRequests[0]?.authorization ?? '', /^Basic /);
    assert(registry.exchanges.every(({ authorization }) => !authorization?.startsWith('Basic')));
  });

  test('who may not read is AuthenticationFailed, after one token', async () => {
    await assert.rejects(lookOci(registry.sourceUrl('private/a:x')), fault('AuthenticationFailed'));
    assert.equal(registry.tokenRequests.length, 1);
    const secret = { username, password: 'canary-wrong' };
    await assert.rejects(
      lookOci(registry.sourceUrl('private/a:x'), { secret }),
      fault('AuthenticationFailed', /the token server of 127\.0\.0\.1/),
    );
  });

  test('a token that has run out is asked for anew', async () => {
    let refused = false;
    registry.behaviour = (request, response) => {
      if (refused || !request.url?.includes('/blobs/')) return false;
      refused = true;
      const { tokenRequests } = registry;
      assert.equal(tokenRequests.length, 1);
      const realm = `http://127.0.0.1:${realmPort}/token`;
      response.writeHead(401, { 'www-authenticate': `Bearer realm="${realm}",service="canary-service"` }).end();
      return true;
    };
    const challenge = await fetch(`${registry.origin}/v2/`);
    const realmPort = /127\.0\.0\.1:(\d+)\/token/.exec(challenge.headers.get('www-authenticate')!)?.[1];
    assert.deepEqual(texts((await lookOci(registry.sourceUrl('public/a:x'))).files), { 'a.md': 'a.md' });
    assert(refused);
    assert.equal(registry.tokenRequests.length, 2);
  });
});

test('a registry over TLS is trusted by ca.crt of the Secret, and else TLSFailed', async (t) => {
  const { ca, key, cert } = await testCertificates();
  const registry = await startRegistry({ tls: { key, cert } });
  t.after(() => registry.close());
  await registry.push('a', 'x', [layer(file('a.md'))]);
  await assert.rejects(lookOci(registry.sourceUrl('a:x')), fault('TLSFailed'));
  assert.deepEqual(texts((await lookOci(registry.sourceUrl('a:x'), { secret: { 'ca.crt': ca } })).files), {
    'a.md': 'a.md',
  });
});
