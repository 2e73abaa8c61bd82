// What a refresh of a git source costs, and that it is right whatever happened upstream.
import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { describe, test } from 'node:test';
import { look, newMemory } from '../fixtures/git-look.ts';
import { type FileContent, git } from '../fixtures/git-repository.ts';
import { gitSuite, pack } from '../fixtures/git-suite.ts';

const suite = gitSuite();

describe('a refresh', () => {
  const nothing = { want: () => false };

  test('of what has not changed costs two requests and at most 1 KB', async () => {
    const { repo, url } = await suite.repository();
    await repo.commitFiles(pack);
    const memory = newMemory();
    await look(url, { memory });
    suite.server.exchanges.length = 0;
    await look(url, { memory, ...nothing });
    assert.equal(suite.server.exchanges.length, 2);
    assert(suite.bytesOnTheWire() <= 1024, `${suite.bytesOnTheWire()} bytes`);
  });

  test('of one changed file among hundreds transfers that file and what leads to it', async () => {
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

  test('after the history was written anew is right', async () => {
    const { repo, url } = await suite.repository();
    const memory = newMemory();
    await repo.commitFiles({ 'a/x': '1', 'b/y': '2' });
    await look(url, { memory });
    const anew = await repo.commitFiles({ 'a/x': '1', 'c/z': '3' });
    await git(['reflog', 'expire', '--expire=now', '--all'], repo.folder);
    await git(['gc', '-q', '--prune=now'], repo.folder);
    const found = await look(url, { memory });
    assert.equal(found.revision, `main@sha1:${anew}`);
    assert.deepEqual([...found.files.keys()], ['a/x', 'c/z']);
  });

  test('back to an earlier commit, and to one with the same tree, is right', async () => {
    const { repo, url } = await suite.repository();
    const memory = newMemory();
    const first = await repo.commitFiles({ 'a/x': '1', 'b/y': '2' });
    const second = await repo.commitFiles({ 'a/x': '1', 'b/y': 'new' }, { parent: first });
    await look(url, { memory });
    await repo.reference('refs/heads/main', first);
    assert.equal((await look(url, { memory })).files.get('b/y')?.toString(), '2');
    await repo.reference('refs/heads/main', second);
    await look(url, { memory });
    const tree = (await git(['rev-parse', 'main^{tree}'], repo.folder)).trim();
    const empty = await repo.commit(tree, { parent: second });
    await repo.reference('refs/heads/main', empty);
    const found = await look(url, { memory });
    assert.equal(found.revision, `main@sha1:${empty}`);
    assert.equal(found.files.get('b/y')?.toString(), 'new');
  });

  test('with a memory that is lost, damaged or of another repository costs time only', async () => {
    const { repo, url } = await suite.repository();
    const commit = await repo.commitFiles(pack);
    const memory = newMemory();
    await look(url, { memory, ...nothing });
    const other = await suite.repository();
    await other.repo.commitFiles({ other: 'pack' });
    const strange = newMemory();
    await look(other.url, { memory: strange, ...nothing });
    const flipped = Buffer.from(memory.bytes!);
    flipped[100]! ^= 1;
    for (const bytes of [undefined, Buffer.alloc(0), flipped, memory.bytes!.subarray(50), strange.bytes]) {
      const found = await look(url, { memory: newMemory(bytes), ...nothing });
      assert.equal(found.revision, `main@sha1:${commit}`);
      assert.equal(found.entries.length, 6);
    }
  });

  test('writes no memory when nothing changed', async () => {
    const { repo, url } = await suite.repository();
    await repo.commitFiles({ a: '1', b: { link: 'a' } });
    const memory = newMemory();
    await look(url, { memory });
    memory.save = () => assert.fail('saved');
    await look(url, { memory });
  });
});
