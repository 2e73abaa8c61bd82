// What the reader through isomorphic-git leaves on a disk: unpacked files while it is open, within a bound, and nothing else.
import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { HttpGitServer } from '../../../upstream/git/http-server.ts';
import { openRepository } from '../../../upstream/git/open.ts';
import type { GitRepository } from '../../../upstream/git/repository.ts';
import { GuardedClient } from '../../../upstream/guard/client.ts';
import { GitFixture } from '../../fixtures/git-repository.ts';
import { type GitServer, startGitServer } from '../../fixtures/git-server.ts';
import { fault } from '../../fixtures/git-suite.ts';

const mebibyte = 2 ** 20;
const authorization = 'Bearer canary';

describe('the reader through isomorphic-git', () => {
  let root: string;
  let server: GitServer;
  let repo: GitFixture;
  const guard = new GuardedClient({ allowLoopback: true, deniedCidrs: [] });
  before(async () => {
    root = await mkdtemp(join(tmpdir(), 'lyceum-isomorphic-'));
    repo = await GitFixture.create(join(root, 'r.git'));
    server = await startGitServer({ root, versionZero: true, authorization });
  });
  after(async () => {
    await server.close();
    await guard.close();
    await rm(root, { recursive: true, force: true });
  });

  async function opened(
    totalSize: number,
    use: (repository: GitRepository, scratch: string) => Promise<void>,
  ): Promise<void> {
    const scratch = await mkdtemp(join(root, 'scratch-'));
    const repository = await openRepository(
      undefined,
      new HttpGitServer({
        url: new URL(`${server.origin}/r.git`),
        client: guard,
        authorization,
        signal: new AbortController().signal,
        received: () => {},
      }),
      { scratch, limits: { fileSize: 4 * mebibyte, totalSize } },
    );
    await use(repository, scratch).finally(() => repository.close());
    assert.deepEqual(await readdir(scratch), []);
  }

  test('keeps a small commit in memory, and a larger one in a file that knows nothing of the server', async () => {
    await repo.commitFiles({ 'SKILL.md': 'small' });
    await opened(0, async (repository, scratch) => {
      assert.equal(repository.reader, 'isomorphic-git');
      assert.equal((await repository.tree(undefined)).files.length, 1);
      assert.deepEqual(await readdir(scratch), []);
    });
    const files = Array.from({ length: 6 }, (_, index) => [`film-${index}`, randomBytes(3 * mebibyte)] as const);
    await repo.commitFiles(Object.fromEntries(files));
    await opened(0, async (repository, scratch) => {
      const tree = await repository.tree(undefined);
      const [file] = await readdir(scratch);
      assert.deepEqual(await readdir(scratch), [file]);
      const written = await readFile(join(scratch, file!));
      for (const secret of ['canary', '127.0.0.1']) assert.ok(!written.includes(secret), secret);
      const found: Buffer[] = [];
      const oids = tree.files.map(({ id }) => id.replace('sha1:', ''));
      await repository.blobs(oids, 4 * mebibyte, {
        whole: (_, bytes) => void found.push(bytes),
        large: () => assert.fail('no file is too large'),
      });
      assert.ok(found.every((bytes, index) => bytes.equals(files[index]![1])));
    });
  });

  test('ends as LimitExceeded when a small pack unfolds to more than four times what a commit may have', async () => {
    const film = { mode: '100644', oid: await repo.blobOfZeros(300) };
    await repo.commitFiles({ film });
    await opened(16 * mebibyte, async (repository) => {
      assert.deepEqual((await repository.tree(undefined)).files.length, 1);
    });
    await opened(8 * mebibyte, async (repository) => {
      await assert.rejects(
        repository.tree(undefined),
        fault('LimitExceeded', /301989888 bytes unpacked.*spec\.limits\.totalSize/),
      );
    });
  });
});
