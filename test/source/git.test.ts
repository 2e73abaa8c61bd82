// Git sources against the real `git http-backend`, however it has to be read: what comes, and what is left out.
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { objectName } from '../../upstream/git/objects.ts';
import { look, newMemory } from '../fixtures/git-look.ts';
import { blob, deltaTo, packOf } from '../fixtures/git-pack.ts';
import { git } from '../fixtures/git-repository.ts';
import { fault, gitServerKinds, gitSuite, pack, readerOf } from '../fixtures/git-suite.ts';

for (const kind of gitServerKinds) {
  describe(`a git server ${kind}`, () => {
    const suite = gitSuite(kind);

    test('every file comes byte by byte as git has it', async () => {
      const { repo, url } = await suite.repository();
      const commit = await repo.commitFiles(pack);
      await repo.repack();
      const found = await look(url);
      assert.equal(found.reader, readerOf(kind));
      assert.equal(found.revision, `main@sha1:${commit}`);
      assert.deepEqual(found.problems, []);
      assert.deepEqual([...found.files.keys()].sort(), Object.keys(pack).sort());
      for (const [path, content] of Object.entries(pack)) {
        assert(found.files.get(path)?.equals(Buffer.from(content as string)), path);
      }
      const readme = await git(['rev-parse', 'main:README.md'], repo.folder);
      assert.equal(found.entries.find(({ path }) => path === 'README.md')?.id, `sha1:${readme.trim()}`);
    });

    describe('a ref', () => {
      test('left out is the branch that HEAD points at; a detached HEAD works; an empty repository is NotFound', async () => {
        const { repo, url } = await suite.repository();
        await assert.rejects(look(url), fault('NotFound', /empty/));
        const trunk = await repo.commitFiles({ a: 'trunk' }, { reference: 'refs/heads/trunk' });
        await assert.rejects(look(url), fault('NotFound', /default branch/));
        await repo.head('refs/heads/trunk');
        assert.equal((await look(url)).revision, `trunk@sha1:${trunk}`);
        const other = await repo.commitFiles({ a: 'other' }, { reference: 'refs/heads/other' });
        await repo.head(other);
        const detached = await look(url);
        assert.equal(detached.revision, `HEAD@sha1:${other}`);
        assert.equal(detached.files.get('a')?.toString(), 'other');
      });

      test('that is a branch and a tag is the branch; a full name picks the tag; tags of tags are peeled', async () => {
        const { repo, url } = await suite.repository();
        const branch = await repo.commitFiles({ a: 'branch' });
        const tagged = await repo.commitFiles({ a: 'tag' }, { reference: 'refs/heads/tmp' });
        await repo.reference('refs/tags/main', tagged);
        await repo.reference('refs/tags/v1', await repo.tag(await repo.tag(tagged, 'inner'), 'v1', 'tag'));
        assert.equal((await look(url, { ref: 'main' })).revision, `main@sha1:${branch}`);
        assert.equal((await look(url, { ref: 'refs/tags/main' })).files.get('a')?.toString(), 'tag');
        const v1 = await look(url, { ref: 'v1' });
        assert.equal(v1.revision, `v1@sha1:${tagged}`);
        assert.equal(v1.files.get('a')?.toString(), 'tag');
      });

      test('may have any name git allows, and is not taken for a longer one', async () => {
        const { repo, url } = await suite.repository();
        const odd = await repo.commitFiles({ a: '1' }, { reference: 'refs/heads/feat/ünï#1%20x' });
        await repo.reference('refs/heads/feat-long', odd);
        assert.equal((await look(url, { ref: 'feat/ünï#1%20x' })).revision, `feat/ünï#1%20x@sha1:${odd}`);
        await assert.rejects(look(url, { ref: 'feat' }), fault('NotFound', /spec\.ref/));
      });

      test('of forty hex digits is that commit, also one that no branch ends in', async () => {
        const { repo, url } = await suite.repository();
        const first = await repo.commitFiles({ a: 'first' });
        await repo.commitFiles({ a: 'second' }, { parent: first });
        const pinned = await look(url, { ref: first });
        assert.equal(pinned.revision, `sha1:${first}`);
        assert.equal(pinned.files.get('a')?.toString(), 'first');
      });

      test('that is a commit which is not there is NotFound, not an empty pack', async () => {
        const { repo, url } = await suite.repository();
        await repo.commitFiles({ a: '1' });
        await assert.rejects(look(url, { ref: '1'.repeat(40) }), fault('NotFound', /no such commit/));
      });

      test('that names a tree or a file is NotFound', async () => {
        const { repo, url } = await suite.repository();
        await repo.commitFiles({ a: '1' });
        const tree = (await git(['rev-parse', 'main^{tree}'], repo.folder)).trim();
        await assert.rejects(look(url, { ref: tree }), fault('NotFound', /no such commit/));
        await repo.reference('refs/tags/file', await repo.blob('1'));
        await assert.rejects(look(url, { ref: 'file' }), fault('NotFound', /no such commit/));
      });
    });

    describe('links', () => {
      test('come with their target text, escaping ones and loops too', async () => {
        const { repo, url } = await suite.repository();
        const files = {
          'CLAUDE.md': 'rules',
          'AGENTS.md': { link: 'CLAUDE.md' },
          'skills/a/SKILL.md': { link: '../real/SKILL.md' },
          out: { link: '../../outside' },
          loop: { link: 'loop' },
        };
        const first = await repo.commitFiles(files);
        const memory = newMemory();
        const links = (found: Awaited<ReturnType<typeof look>>) =>
          Object.fromEntries(found.entries.flatMap(({ path, link }) => (link === undefined ? [] : [[path, link]])));
        const expected = {
          'AGENTS.md': 'CLAUDE.md',
          'skills/a/SKILL.md': '../real/SKILL.md',
          out: '../../outside',
          loop: 'loop',
        };
        assert.deepEqual(links(await look(url, { memory })), expected);
        await repo.commitFiles({ ...files, new: '1' }, { parent: first });
        assert.deepEqual(links(await look(url, { memory, want: () => false })), expected);
      });

      test('with megabytes of targets are LimitExceeded before they fill the memory', async () => {
        const { repo, url } = await suite.repository();
        const targets = Array.from({ length: 2100 }, (_, at) => `${at}/`.padEnd(4096, 'x'));
        await repo.commitFiles(Object.fromEntries(targets.map((link, at) => [`l${at}`, { link }])));
        await assert.rejects(look(url), fault('LimitExceeded', /8388608 bytes of link targets/));
      });

      test('whose target is no path are reported and left out', async () => {
        const { repo, url } = await suite.repository();
        await repo.commitFiles({
          ok: '1',
          long: { link: 'x'.repeat(5000) },
          nul: { link: 'a\0b' },
          latin: { mode: '120000', oid: await repo.blob(Buffer.from([0x61, 0xff])) },
        });
        const found = await look(url);
        assert.deepEqual([...found.files.keys()], ['ok']);
        assert.equal(found.entries.length, 1);
        assert.deepEqual(found.problems.map(({ reason, path }) => [reason, path]).sort(), [
          ['LinkBroken', 'latin'],
          ['LinkBroken', 'long'],
          ['LinkBroken', 'nul'],
        ]);
      });
    });

    test('submodules and odd names are problems, and everything else comes', async () => {
      const { repo, url } = await suite.repository();
      const oid = await repo.blob('fine');
      const tree = await repo.rawTree([
        { mode: '100644', name: '..', oid },
        { mode: '100644', name: '...', oid },
        { mode: '100644', name: 'a\\b.md', oid },
        { mode: '100664', name: 'ok.md', oid },
        { mode: '160000', name: 'sub', oid: '1'.repeat(40) },
        { mode: '100644', name: Buffer.from([0xe9]), oid },
      ]);
      await repo.reference('refs/heads/main', await repo.commit(tree));
      const found = await look(url);
      assert.deepEqual([...found.files.keys()], ['...', 'ok.md']);
      assert.deepEqual(
        found.problems.map(({ reason, severity, path }) => [reason, severity, path]),
        [
          ['BadFileName', 'error', '..'],
          ['BadFileName', 'error', 'a\\b.md'],
          ['Submodule', 'warning', 'sub'],
          ['BadFileName', 'error', '\\xe9'],
        ],
      );
    });

    describe('limits', () => {
      test('a file over fileSize is named with its size, at every path it has, and the rest goes on', async () => {
        const { repo, url } = await suite.repository();
        await repo.commitFiles({
          'a/SKILL.md': 'x',
          'a/big': 'b'.repeat(1001),
          'c/big': 'b'.repeat(1001),
          fits: 'f'.repeat(1000),
        });
        const found = await look(url, { limits: { fileSize: 1000 } });
        assert.deepEqual([...found.files.keys()].sort(), ['a/SKILL.md', 'fits']);
        assert.deepEqual(
          [...found.tooLarge],
          [
            ['a/big', 1001],
            ['c/big', 1001],
          ],
        );
      });

      test('more than totalSize fails the look and says which field raises it', async () => {
        const { repo, url } = await suite.repository();
        await repo.commitFiles({ a: 'x'.repeat(600), b: 'y'.repeat(400) });
        assert.equal((await look(url, { limits: { totalSize: 1000 } })).files.size, 2);
        await assert.rejects(
          look(url, { limits: { totalSize: 999 } }),
          fault('LimitExceeded', /999 bytes.*spec\.limits\.totalSize/),
        );
      });

      const huge = Buffer.alloc(17 * 2 ** 20, 'huge');
      const file = (bytes: Buffer) => ({ mode: '100644', oid: objectName('blob', bytes) });

      test('large files that git stores as one and differences from it are all named', async () => {
        const { repo, url } = await suite.repository();
        const grown = [3, 70].map((more) => Buffer.concat([huge, Buffer.alloc(more)]));
        await repo.addPack(
          packOf([
            blob(huge),
            ...grown.map((bytes) => ({ type: 6, data: deltaTo(huge, bytes, huge.length), before: 0 })),
          ]),
        );
        await repo.commitFiles({
          'a/SKILL.md': 'x',
          'a/film': file(huge),
          'b/film': file(grown[0]!),
          'c/film': file(grown[1]!),
        });
        const found = await look(url);
        assert.deepEqual([...found.files.keys()], ['a/SKILL.md']);
        assert.deepEqual([...found.tooLarge].sort(), [
          ['a/film', huge.length],
          ['b/film', huge.length + 3],
          ['c/film', huge.length + 70],
        ]);
      });

      test('a small file that git stores as a difference from a huge one is read', async () => {
        const { repo, url } = await suite.repository();
        const small = huge.subarray(0, 2 ** 20);
        await repo.addPack(packOf([blob(huge), { type: 6, data: deltaTo(huge, small, small.length), before: 0 }]));
        await repo.commitFiles({ 'a/film': file(huge), 'b/film': file(small) });
        const found = await look(url);
        assert(found.files.get('b/film')?.equals(small));
        assert.deepEqual([...found.tooLarge], [['a/film', huge.length]]);
      });
    });
  });
}
