// Refreshes of a git source are right, whatever happened upstream and however its server has to be read.
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { look, newMemory } from '../fixtures/git-look.ts';
import { git } from '../fixtures/git-repository.ts';
import { fault, gitServerKinds, gitSuite, pack } from '../fixtures/git-suite.ts';

for (const kind of gitServerKinds) {
  describe(`a git server ${kind}`, () => {
    const suite = gitSuite(kind);

    describe('a refresh', () => {
      const nothing = { want: () => false };

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

      test('of a branch that is gone is NotFound, never the commit of before', async () => {
        const { repo, url } = await suite.repository();
        const memory = newMemory();
        const commit = await repo.commitFiles({ a: '1' });
        await repo.reference('refs/heads/team', commit);
        assert.equal((await look(url, { ref: 'team', memory })).revision, `team@sha1:${commit}`);
        await git(['update-ref', '-d', 'refs/heads/team'], repo.folder);
        await assert.rejects(look(url, { ref: 'team', memory }), fault('NotFound', /spec\.ref/));
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
  });
}
