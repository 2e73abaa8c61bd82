// WebDAV folders against real servers: Apache mod_dav with Basic and with Digest, and nginx with dav-ext.
import assert from 'node:assert/strict';
import { utimes } from 'node:fs/promises';
import { join } from 'node:path';
import { after, afterEach, before, describe, test } from 'node:test';
import { SourceFault } from '../../operator/reasons.ts';
import { testCertificates } from '../fixtures/certificates.ts';
import { eventually } from '../fixtures/eventually.ts';
import { newMemory } from '../fixtures/git-look.ts';
import { fault } from '../fixtures/http.ts';
import { lookDav, probeDav } from '../fixtures/webdav-look.ts';
import {
  asked,
  secret,
  startWebDavServer,
  type WebDavServerFixture,
  webDavServerKinds,
} from '../fixtures/webdav-server.ts';

const gets = (server: WebDavServerFixture): string[] => asked(server).filter((one) => one.startsWith('GET'));

for (const kind of webDavServerKinds) {
  describe(kind, () => {
    let server: WebDavServerFixture;
    before(async () => {
      server = await startWebDavServer(kind);
    });
    afterEach(() => server.reset());
    after(() => server.close());

    test('every file of every folder comes byte by byte', async () => {
      const files = {
        'README.md': '# Pack\r\n',
        'skills/loki/SKILL.md': '\ufeff---\nname: loki\n---\n',
        'skills/loki/references/deep/er/logql.md': 'LogQL',
        'skills/loki/empty.txt': '',
      };
      await server.write(files);
      const found = await lookDav(server.sourceUrl());
      assert.deepEqual(Object.fromEntries([...found.files].sort()), Object.fromEntries(Object.entries(files).sort()));
      assert.match(found.revision, /^sha256:[0-9a-f]{64}$/);
      assert.equal(found.probed, found.revision);
      assert.deepEqual(found.problems, []);
    });

    test('awkward names are copied, and revalidated', async () => {
      const names = [
        'a#b.md',
        'what?.md',
        '100%.md',
        '%2e%2e',
        '%41.md',
        'with blank.md',
        "it's (1) [x] {y} & <z>; a=b,c+d@e!$.md",
        'größe é 漢字 🦉.md',
        'e\u0301.md',
        'a:b.md',
        'quote".md',
        'tab\there.md',
        'x'.repeat(200),
      ];
      await server.write(Object.fromEntries(names.map((name) => [`odd #1/${name}`, `content of ${name}`])));
      const memory = newMemory();
      const found = await lookDav(server.sourceUrl(), { memory });
      assert.deepEqual([...found.files.keys()].sort(), names.map((name) => `odd #1/${name}`).sort());
      for (const name of names) assert.equal(found.files.get(`odd #1/${name}`), `content of ${name}`);
      server.exchanges.length = 0;
      assert.equal(await probeDav(server.sourceUrl(), { memory }), found.revision);
      assert.deepEqual(asked(server), ['PROPFIND /dav/', 'PROPFIND /dav/odd%20%231/']);
    });

    test('an unchanged folder costs one PROPFIND a folder and no file, after a restart too', async () => {
      await server.write({ 'a.md': 'a', 'b/c.md': 'c' });
      const memory = newMemory();
      const first = await lookDav(server.sourceUrl(), { memory });
      const remembered = newMemory(memory.bytes);
      server.exchanges.length = 0;
      assert.equal(await probeDav(server.sourceUrl(), { memory: remembered }), first.revision);
      assert.deepEqual(asked(server), ['PROPFIND /dav/', 'PROPFIND /dav/b/']);
      await eventually('nothing is written', async () => {
        // Apache calls the ETag of a folder weak for a second, which is worth remembering.
        const before = remembered.bytes;
        assert.equal(await probeDav(server.sourceUrl(), { memory: remembered }), first.revision);
        return remembered.bytes === before;
      });
      assert.equal(await probeDav(server.sourceUrl()), first.revision, 'without any memory the revision is the same');
      assert.deepEqual(gets(server), []);
    });

    test('an edit, a new file and a deletion move the revision, and only what changed is read', async () => {
      await server.write({ 'a.md': 'a', 'b/c.md': 'c', 'b/d.md': 'd' });
      const [memory, known] = [newMemory(), new Map<string, string>()];
      const revisions = [(await lookDav(server.sourceUrl(), { memory, known })).revision];
      const again = async (files: Record<string, string>, read: string[]) => {
        server.exchanges.length = 0;
        const found = await lookDav(server.sourceUrl(), { memory, known });
        assert.deepEqual(Object.fromEntries([...found.files].sort()), files);
        assert.deepEqual(gets(server), read);
        assert(!revisions.includes(found.revision));
        revisions.push(found.revision);
      };
      await server.write({ 'b/c.md': 'changed' }, 50);
      await again({ 'a.md': 'a', 'b/c.md': 'changed', 'b/d.md': 'd' }, ['GET /dav/b/c.md']);
      await server.write({ 'b/new.md': 'new' });
      await again({ 'a.md': 'a', 'b/c.md': 'changed', 'b/d.md': 'd', 'b/new.md': 'new' }, ['GET /dav/b/new.md']);
      await server.remove('b');
      await again({ 'a.md': 'a' }, []);
      await server.remove('a.md');
      await again({}, []);
    });

    test('a rewrite of the same size within the same second is noticed', async () => {
      const time = Math.floor(Date.now() / 1000);
      const rewrite = async (content: string) => {
        await server.write({ 'a.md': content }, 0);
        await utimes(join(server.folder, 'a.md'), time, time);
      };
      await rewrite('one');
      const memory = newMemory();
      const first = await lookDav(server.sourceUrl(), { memory });
      assert.equal(first.files.get('a.md'), 'one');
      await rewrite('two');
      const second = await lookDav(server.sourceUrl(), { memory });
      assert.notEqual(second.revision, first.revision);
      assert.equal(second.files.get('a.md'), 'two');
      await rewrite('six');
      await eventually('the file is no longer young', () => Date.now() / 1000 - time > 3);
      const third = await lookDav(server.sourceUrl(), { memory });
      assert.notEqual(third.revision, second.revision, 'though the listing says what it said before');
      assert.equal(third.files.get('a.md'), 'six');
      server.exchanges.length = 0;
      assert.equal(await probeDav(server.sourceUrl(), { memory }), third.revision);
      assert.deepEqual(gets(server).length <= 1, true);
      server.exchanges.length = 0;
      assert.equal(await probeDav(server.sourceUrl(), { memory }), third.revision);
      assert.deepEqual(gets(server), [], 'once it has been read as an old file nothing is read again');
    });

    test('a young file that is left alone does not move the revision as it grows old', async () => {
      await server.write({ 'a.md': 'a' }, 0);
      const memory = newMemory();
      const { revision } = await lookDav(server.sourceUrl(), { memory });
      await eventually('it is old', async () => {
        server.exchanges.length = 0;
        assert.equal(await probeDav(server.sourceUrl(), { memory }), revision);
        return gets(server).length === 0;
      });
    });

    test('a wrong password is AuthenticationFailed, and nothing of it or of an answer is told', async () => {
      await server.write({ 'a.md': 'a' });
      const wrongs: Record<string, string>[] = [{ password: 'canary-wrong' }, { username: 'nobody' }];
      for (const wrong of wrongs) {
        const memory = newMemory();
        await assert.rejects(lookDav(server.sourceUrl(), { memory, secret: { ...secret, ...wrong } }), (error) => {
          assert.doesNotMatch(String((error as Error).stack), /canary|nobody|jörg/);
          return fault('AuthenticationFailed', /spec\.secretRef/)(error);
        });
        assert.equal(memory.bytes, undefined);
      }
    });

    test('a folder that is not there is NotFound, and a file in its place is no folder', async () => {
      await server.write({ 'a.md': 'a' });
      await assert.rejects(lookDav(server.sourceUrl('missing')), fault('NotFound', /spec\.url/));
      await assert.rejects(lookDav(server.sourceUrl('a.md')), fault(kind === 'nginx' ? 'NotFound' : 'UpstreamInvalid'));
    });

    test('only the subdirectory is listed, under paths from the root', async () => {
      await server.write({ 'a.md': 'a', 'packs/x y/SKILL.md': 's', 'other/b.md': 'b' });
      const found = await lookDav(server.sourceUrl(), { subdirectory: 'packs/x y' });
      assert.deepEqual([...found.files], [['packs/x y/SKILL.md', 's']]);
      assert.deepEqual(asked(server), ['PROPFIND /dav/packs/x%20y/', 'GET /dav/packs/x%20y/SKILL.md']);
    });

    test('a file over limits.fileSize is told and not transferred; over totalSize is LimitExceeded', async () => {
      await server.write({ 'big.bin': Buffer.alloc(5000), 'a.md': 'a', 'b.md': 'bb' });
      const found = await lookDav(server.sourceUrl(), { limits: { fileSize: 4999 } });
      assert.deepEqual([...found.tooLarge], [['big.bin', 5000]]);
      assert.deepEqual([...found.files.keys()].sort(), ['a.md', 'b.md']);
      assert(!asked(server).includes('GET /dav/big.bin'));
      await assert.rejects(
        lookDav(server.sourceUrl(), { limits: { fileSize: 4999, totalSize: 2 } }),
        fault('LimitExceeded', /more than 2 bytes.*totalSize/),
      );
    });

    test('node_modules and .git are not walked', async () => {
      await server.write({ 'a.md': 'a', 'node_modules/x/SKILL.md': 's', '.git/config': 'c' });
      assert.deepEqual([...(await lookDav(server.sourceUrl())).files.keys()], ['a.md']);
      assert.deepEqual(asked(server), ['PROPFIND /dav/', 'GET /dav/a.md']);
    });

    test('the password is shown as the server asks, and never before it has asked', async () => {
      await server.write({ 'a.md': 'a' });
      await lookDav(server.sourceUrl());
      const schemes = server.exchanges.map(({ authorization }) => authorization?.split(' ')[0]);
      const scheme = kind === 'Apache with Digest' ? 'Digest' : 'Basic';
      assert.deepEqual(schemes, [undefined, scheme, scheme]);
    });
  });
}

test('a Digest nonce that grows old is renewed while a look goes on', async () => {
  const server = await startWebDavServer('Apache with Digest');
  try {
    await server.write({ 'a/b.md': 'b', 'c.md': 'c' });
    let waiting: Promise<unknown> | undefined;
    const later = Promise.withResolvers<unknown>();
    server.tamper = (request) => {
      if (request.url === '/dav/' && request.headers.authorization !== undefined)
        waiting ??= pastNonce().then(later.resolve);
      return undefined;
    };
    server.behaviour = (request, response) => {
      if (request.url !== '/dav/a/' || waiting === undefined) return false;
      server.behaviour = undefined;
      // The first answer for the sub-folder comes when the nonce is too old.
      void later.promise.then(() => response.writeHead(307, { location: '/dav/a/' }).end());
      return true;
    };
    const found = await lookDav(server.sourceUrl(), { guard: { idleTimeout: 10_000 } });
    assert.deepEqual([...found.files.keys()].sort(), ['a/b.md', 'c.md']);
    const refused = server.exchanges.filter(
      ({ status, authorization }) => status === 401 && authorization !== undefined,
    );
    assert(refused.length > 0, 'the server refused the old nonce');
  } finally {
    await server.close();
  }
});

test('a server that takes each nonce once is read whole, though folders and files are asked for side by side', async () => {
  const server = await startWebDavServer('Apache with Digest', { oneTimeNonces: true });
  try {
    const paths = Array.from({ length: 40 }, (_, at) => `${at % 10}/${at % 4}/${at}.md`);
    await server.write(Object.fromEntries(paths.map((path) => [path, path])));
    const memory = newMemory();
    const found = await lookDav(server.sourceUrl(), { memory });
    assert.deepEqual([...found.files.keys()].sort(), paths.sort());
    const refused = server.exchanges.filter(({ status }) => status === 401).length;
    assert(refused > 1, 'it refuses a nonce that was taken');
    assert(server.exchanges.length < 2 * asked(server).length, `${refused} of ${server.exchanges.length} were refused`);
    assert.equal(await probeDav(server.sourceUrl(), { memory }), found.revision);
  } finally {
    await server.close();
  }
});

/** The lifetime of a nonce is two seconds, in whole ones. */
const pastNonce = () => new Promise((resolve) => setTimeout(resolve, 3100));

test('a private authority is trusted from ca.crt, and without it the reason is TLSFailed', async () => {
  const { ca, key, cert } = await testCertificates();
  const server = await startWebDavServer('Apache with Digest', { tls: { key, cert } });
  try {
    await server.write({ 'a.md': 'a' });
    const found = await lookDav(server.sourceUrl(), { secret: { ...secret, 'ca.crt': ca } });
    assert.equal(found.files.get('a.md'), 'a');
    await assert.rejects(lookDav(server.sourceUrl()), fault('TLSFailed', /ca\.crt/));
  } finally {
    await server.close();
  }
});

test('a Secret that lacks a key says which, and nothing is asked', async () => {
  const lacking: [Record<string, string>, RegExp][] = [
    [{}, /lacks username and password/],
    [{ username: 'ann' }, /lacks password/],
    [{ password: 'canary' }, /lacks username/],
    [{ username: '', password: 'canary' }, /lacks username/],
    [{ username: 'a:b', password: 'canary' }, /without a colon/],
  ];
  for (const [given, message] of lacking) {
    await assert.rejects(lookDav('webdav+http://127.0.0.1:1/dav', { secret: given }), (error) => {
      assert(error instanceof SourceFault);
      assert.equal(error.reason, 'SecretNotFound');
      assert.match(error.message, message);
      assert.doesNotMatch(error.message, /canary/);
      return true;
    });
  }
});
