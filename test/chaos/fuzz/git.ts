// Packs and packets of git, as a real server gives them.
import { createHash } from 'node:crypto';
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { UpstreamFault } from '../../../upstream/fault.ts';
import { readAdvertisement } from '../../../upstream/git/advertisement.ts';
import { ByteStream } from '../../../upstream/git/byte-stream.ts';
import { packOf, packOfVersionZero } from '../../../upstream/git/fetch-response.ts';
import { type GitObject, rootTree } from '../../../upstream/git/objects.ts';
import { readPack } from '../../../upstream/git/pack.ts';
import { parseReference } from '../../../upstream/git/references.ts';
import { fetchBlobs, fetchTrees, listReferences } from '../../../upstream/git/requests.ts';
import { TreeDamaged } from '../../../upstream/git/tree.ts';
import { UnfoldBudget } from '../../../upstream/git/unfold-budget.ts';
import { UnpackedStore } from '../../../upstream/git/unpacked-store.ts';
import { TreeMissing, walk } from '../../../upstream/git/walk.ts';
import { newPace } from '../../../upstream/pace.ts';
import { GitFixture } from '../../fixtures/git-repository.ts';
import { startGitServer } from '../../fixtures/git-server.ts';
import { skillText } from '../../fixtures/operator.ts';
import { inPieces, orFault, type Prepared, type Target } from './target.ts';

const name = 'git.example.org';
const mebibyte = 2 ** 20;
const absent = (): UpstreamFault => new UpstreamFault('NotFound', 'it is not there');

/** Two commits whose files differ little, so that git packs them as deltas. */
async function repository(root: string): Promise<{ repo: GitFixture; commits: string[]; blob: string }> {
  const repo = await GitFixture.create(join(root, 'pack.git'));
  const long = Array.from({ length: 800 }, (_, at) => `Line ${at} says ${(at * 7919) % 1009}.\n`).join('');
  const files = {
    'skills/one/SKILL.md': skillText('one', long),
    'skills/two/SKILL.md': skillText('two', `${long}And more.`),
    'skills/two/link': { link: '../one' },
    'bytes.bin': Buffer.from(Array.from({ length: 3_000 }, (_, at) => (at * 31) % 256)),
  };
  const first = await repo.commitFiles(files);
  const second = await repo.commitFiles(
    { ...files, 'skills/one/SKILL.md': skillText('one', `${long}!`) },
    { parent: first },
  );
  await repo.repack();
  return { repo, commits: [first, second], blob: await repo.blob(skillText('one', long)) };
}

/** Reads a pack as a look does, and walks the trees of whatever commits it holds. */
async function readAll(pieces: AsyncIterable<Buffer>, folder: string): Promise<void> {
  const objects = new Map<string, GitObject>();
  const store = new UnpackedStore(join(folder, 'unpacked'));
  const signal = new AbortController().signal;
  const budget = new UnfoldBudget(8 * mebibyte, 'the wanted files');
  const options = { name, maxObjects: 10_000, keep: mebibyte, largest: mebibyte, budget, store, signal };
  try {
    await readPack(pieces, options, { whole: (oid, object) => void objects.set(oid, object), large: () => {} });
  } finally {
    await store.close();
  }
  for (const { type, data } of objects.values()) {
    const tree = type === 'commit' ? rootTree(data) : undefined;
    if (tree === undefined) continue;
    const find = (oid: string): Buffer | undefined => objects.get(oid)?.data;
    await orFault([UpstreamFault, TreeDamaged, TreeMissing], () => walk(tree, find, newPace(signal)));
  }
}

/** With the checksum that it would have, so that it is not refused for that alone. */
const sealed = (pack: Buffer): Buffer => {
  const body = pack.subarray(0, Math.max(0, pack.length - 20));
  return Buffer.concat([body, createHash('sha1').update(body).digest()]);
};

export const packs: Target = {
  name: 'packs',
  dictionary: [
    'PACK\0\0\0\x02\0\0\0\x05',
    '\x78\x9c',
    '\x70',
    '\x60',
    '\xff\xff\xff\xff\x7f',
    '\x90\0',
    '\x80\x80\x80',
  ],
  async prepare(folder): Promise<Prepared> {
    const { repo } = await repository(folder);
    const objects = join(repo.folder, 'objects/pack');
    const files = (await readdir(objects)).filter((file) => file.endsWith('.pack'));
    const seeds = await Promise.all(files.map((file) => readFile(join(objects, file))));
    return {
      seeds,
      async feed(input) {
        for (const pack of [input, sealed(input)])
          await orFault([UpstreamFault], () => readAll(inPieces(pack), folder));
      },
    };
  },
};

export const packets: Target = {
  name: 'packets',
  dictionary: [
    '0000',
    '0001',
    '0002',
    '0004',
    'ffff',
    'fff0',
    '001e# service=git-upload-pack\n',
    '000eversion 2\n',
    'packfile\n',
    'ERR ',
    '\x01PACK',
    '\x02',
    '\x03',
    'object-format=sha256',
    'HEAD',
    '^{}',
    'symref-target:',
  ],
  async prepare(folder): Promise<Prepared> {
    const { commits, blob } = await repository(folder);
    const server = await startGitServer({ root: folder });
    const old = await startGitServer({ root: folder, versionZero: true });
    const headers = { 'git-protocol': 'version=2' };
    const advertised = async (origin: string): Promise<Buffer> => {
      const answer = await fetch(`${origin}/pack.git/info/refs?service=git-upload-pack`, { headers });
      return Buffer.from(await answer.arrayBuffer());
    };
    const asked = async (body: Buffer): Promise<Buffer> => {
      const type = { 'content-type': 'application/x-git-upload-pack-request' };
      const answer = await fetch(`${server.origin}/pack.git/git-upload-pack`, {
        method: 'POST',
        headers: { ...headers, ...type },
        body,
      });
      return Buffer.from(await answer.arrayBuffer());
    };
    try {
      const seeds = await Promise.all([
        advertised(server.origin),
        advertised(old.origin),
        asked(listReferences(['refs/heads/', 'HEAD'])),
        asked(fetchTrees(commits[1]!, undefined)),
        asked(fetchTrees(commits[1]!, commits[0]!)),
        asked(fetchBlobs([blob])),
      ]);
      const stream = (input: Buffer): ByteStream => new ByteStream(inPieces(input));
      return {
        seeds,
        async feed(input) {
          await orFault([UpstreamFault], () =>
            readAdvertisement(stream(input), name, new Set(['refs/heads/main', 'HEAD']), newPace()),
          );
          await orFault([UpstreamFault], () => readAll(packOf(stream(input), name, absent), folder));
          await orFault([UpstreamFault], () => readAll(packOfVersionZero(stream(input), name, absent, []), folder));
          for (const line of input.toString('latin1').split('\n')) parseReference(line);
        },
      };
    } finally {
      await Promise.all([server.close(), old.close()]);
    }
  },
};
