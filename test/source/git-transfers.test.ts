// What is asked of a git server and what is transferred, by each way to read it.
import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { describe, test } from 'node:test';
import { look, newMemory } from '../fixtures/git-look.ts';
import type { FileContent } from '../fixtures/git-repository.ts';
import { fault, gitServerKinds, gitSuite, pack } from '../fixtures/git-suite.ts';

const nothing = { want: () => false };

describe('with partial clone', () => {
  const suite = gitSuite('with partial clone');

  test('only what is wanted is transferred', async () => {
    const { repo, url } = await suite.repository();
    await repo.commitFiles({ 'skills/a/SKILL.md': 'small', 'video.bin': randomBytes(2_000_000) });
    const found = await look(url, { want: ({ path }) => path.endsWith('SKILL.md') });
    assert.deepEqual([...found.files.keys()], ['skills/a/SKILL.md']);
    assert.equal(found.entries.length, 2);
    assert(suite.bytesOnTheWire() < 2000, `${suite.bytesOnTheWire()} bytes`);
    assert.equal(suite.server.exchanges.length, 4);
  });

  test('more blobs than one request carries come in several', async () => {
    const { repo, url } = await suite.repository();
    const stream: string[] = [];
    for (let index = 0; index < 5100; index++) {
      stream.push(`blob\nmark :${index + 1}\ndata ${`${index}`.length}\n${index}\n`);
    }
    const files = Array.from({ length: 5100 }, (_, index) => `M 100644 :${index + 1} d${index % 10}/f${index}\n`);
    stream.push('commit refs/heads/main\ncommitter A <a@example.com> 1700000000 +0000\ndata 1\nx\n', ...files);
    await repo.fastImport(stream.join(''));
    const found = await look(url);
    assert.equal(found.files.size, 5100);
    for (const [path, bytes] of found.files) assert.equal(bytes.toString(), path.replace(/.*f/, ''));
    assert.equal(suite.server.exchanges.length, 5);
  });
  test('a refresh of what has not changed costs two requests and at most 1 KB', async () => {
    const { repo, url } = await suite.repository();
    await repo.commitFiles(pack);
    const memory = newMemory();
    await look(url, { memory });
    suite.server.exchanges.length = 0;
    await look(url, { memory, ...nothing });
    assert.equal(suite.server.exchanges.length, 2);
    assert(suite.bytesOnTheWire() <= 1024, `${suite.bytesOnTheWire()} bytes`);
  });

  test('a refresh of one changed file among hundreds transfers that file and what leads to it', async () => {
    const { repo, url } = await suite.repository();
    const files: Record<string, FileContent> = {};
    for (let index = 0; index < 400; index++) files[`skills/s${index % 40}/f${index}.md`] = randomBytes(2000);
    const first = await repo.commitFiles(files);
    await repo.repack();
    const memory = newMemory();
    const known = new Set((await look(url, { memory, ...nothing })).entries.map(({ id }) => id));
    const second = await repo.commitFiles({ ...files, 'skills/s7/f7.md': 'changed' }, { parent: first });
    suite.server.exchanges.length = 0;
    const found = await look(url, { memory, want: ({ id }) => !known.has(id) });
    assert.equal(found.revision, `main@sha1:${second}`);
    assert.equal(found.entries.length, 400);
    assert.deepEqual([...found.files], [['skills/s7/f7.md', Buffer.from('changed')]]);
    assert(suite.bytesOnTheWire() <= 3000, `${suite.bytesOnTheWire()} bytes`);
  });

  test('targets of links are asked for once', async () => {
    const { repo, url } = await suite.repository();
    const files = { 'CLAUDE.md': 'rules', 'AGENTS.md': { link: 'CLAUDE.md' } };
    const first = await repo.commitFiles(files);
    const memory = newMemory();
    await look(url, { memory });
    await repo.commitFiles({ ...files, new: '1' }, { parent: first });
    suite.server.exchanges.length = 0;
    await look(url, { memory, ...nothing });
    assert.equal(suite.server.exchanges.length, 3);
  });
});

for (const kind of gitServerKinds.filter((other) => other !== 'with partial clone')) {
  describe(kind, () => {
    const suite = gitSuite(kind);
    const posts = () => suite.server.exchanges.filter(({ method }) => method === 'POST').length;
    const fetches = () => suite.server.exchanges.filter(({ bytesOut }) => bytesOut > 10_000).length;

    test('a refresh of what has not changed transfers no content', async () => {
      const { repo, url } = await suite.repository();
      await repo.commitFiles({ ...pack, link: { link: 'README.md' } });
      const memory = newMemory();
      await look(url, { memory });
      assert.equal(fetches(), 1);
      suite.server.exchanges.length = 0;
      await look(url, { memory, ...nothing });
      assert.equal(fetches(), 0);
      assert.equal(suite.server.exchanges.length, kind === 'of version 0' ? 1 : 2);
      assert(suite.bytesOnTheWire() <= 1024, `${suite.bytesOnTheWire()} bytes`);
    });

    test('files of a commit whose folders are known are read with one transfer', async () => {
      const { repo, url } = await suite.repository();
      await repo.commitFiles(pack);
      const memory = newMemory();
      await look(url, { memory, ...nothing });
      suite.server.exchanges.length = 0;
      assert.equal((await look(url, { memory })).files.size, 6);
      assert.equal(fetches(), 1);
    });

    test('history is not transferred', async () => {
      const { repo, url } = await suite.repository();
      const first = await repo.commitFiles({ old: randomBytes(500_000) });
      await repo.commitFiles({ new: '1' }, { parent: first });
      assert.deepEqual([...(await look(url)).files.keys()], ['new']);
      assert(suite.bytesOnTheWire() < 5000, `${suite.bytesOnTheWire()} bytes`);
    });

    test('an annotated tag is asked for by the name that the server has told', async () => {
      const { repo, url } = await suite.repository();
      const commit = await repo.commitFiles({ a: '1' });
      const tag = await repo.tag(commit, 'v1');
      await repo.reference('refs/tags/v1', tag);
      let sent = '';
      suite.server.behaviour = (request) => {
        request.on('data', (piece: Buffer) => {
          sent += piece.toString('latin1');
        });
        return false;
      };
      assert.equal((await look(url, { ref: 'v1' })).revision, `v1@sha1:${commit}`);
      assert.match(sent, new RegExp(`want ${tag} `));
    });

    test('a branch beside others is read when the remote has no HEAD', async () => {
      const { repo, url } = await suite.repository();
      const commit = await repo.commitFiles({ a: '1' }, { reference: 'refs/heads/trunk' });
      await repo.commitFiles({ a: '2' }, { reference: 'refs/heads/other' });
      const found = await look(url, { ref: 'trunk' });
      assert.equal(found.revision, `trunk@sha1:${commit}`);
      assert.equal(found.files.get('a')?.toString(), '1');
      assert(posts() <= 2);
    });
  });
}

describe('a whole commit', () => {
  const suite = gitSuite('of version 0');

  test('a commit of more than totalSize and 64 MiB is LimitExceeded and says which field raises it', async () => {
    const { repo, url } = await suite.repository();
    await repo.commitFiles({ 'a/SKILL.md': 'x', video: randomBytes(65 * 2 ** 20) });
    const want = { want: ({ path }: { path: string }) => path === 'a/SKILL.md' };
    await assert.rejects(
      look(url, { ...want, limits: { totalSize: 1000 } }),
      fault('LimitExceeded', /does not offer partial clone.*67109864 bytes.*spec\.limits\.totalSize/),
    );
    assert.equal((await look(url, { ...want, limits: { totalSize: 2 * 2 ** 20 } })).files.size, 1);
  });
});
