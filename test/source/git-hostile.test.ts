// Git servers and repositories that are broken or mean harm: each ends with its own reason, in bounded time and memory.
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { readdir } from 'node:fs/promises';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { promisify } from 'node:util';
import { gzipSync } from 'node:zlib';
import { UpstreamFault } from '../../upstream/fault.ts';
import { type LookOptions, look, newMemory } from '../fixtures/git-look.ts';
import { blob, packOf } from '../fixtures/git-pack.ts';
import { git } from '../fixtures/git-repository.ts';
import {
  ancient,
  answers,
  cutsMidPack,
  dumb,
  endsMidPack,
  flipsByte,
  type GitServer,
  redirectsTo,
  silent,
  stallsMidPack,
  type Tamper,
} from '../fixtures/git-server.ts';
import { fault, gitServerKinds, gitSuite } from '../fixtures/git-suite.ts';

const run = promisify(execFile);

const impatient: LookOptions = { guard: { idleTimeout: 300, connectTimeout: 1000 } };

const errorPacket = (text: string) => {
  const line = `ERR ${text}\n`;
  return (line.length + 4).toString(16).padStart(4, '0') + line;
};
const advertisementType = { 'content-type': 'application/x-git-upload-pack-advertisement' };

for (const kind of ['with partial clone', 'of version 0'] as const) {
  describe(`a server ${kind} that`, () => {
    const suite = gitSuite(kind);
    const versionZero = kind === 'of version 0';

    const faults: [what: string, behaviour: GitServer['behaviour'], reason: string, message: RegExp][] = [
      ['wants other credentials', answers(401), 'AuthenticationFailed', /401/],
      ['refuses access', answers(403), 'AccessDenied', /403/],
      ['has no such repository', answers(404), 'NotFound', /404/],
      ['is asked too often', answers(429, { 'retry-after': '30' }), 'RateLimited', /429/],
      ['has a fault of its own', answers(500), 'UpstreamInvalid', /500/],
      ['stays silent', silent, 'TimedOut', /in time/],
      [
        'redirects to 169.254.169.254',
        redirectsTo('http://169.254.169.254/canary/info/refs'),
        'AddressNotAllowed',
        /link-local/,
      ],
      ['redirects in a circle', redirectsTo('/canary'), 'UpstreamInvalid', /more than 5 times/],
      ['knows only the dumb protocol', dumb, 'UpstreamInvalid', /spec\.url/],
      ['shows a page', answers(200, { 'content-type': 'text/html' }), 'UpstreamInvalid', /spec\.url/],
      [
        'shows a sign-in page as 203',
        answers(203, { 'content-type': 'text/html' }),
        'AuthenticationFailed',
        /spec\.secretRef/,
      ],
      ['has nothing that either reader needs', ancient('multi_ack'), 'UpstreamInvalid', /shallow and side-band-64k/],
      [
        'keeps SHA-256 names before version 2',
        ancient('shallow side-band-64k object-format=sha256'),
        'UpstreamInvalid',
        /SHA-256/,
      ],
      ['refuses in words', answers(200, advertisementType, errorPacket('canary')), 'UpstreamInvalid', /refused/],
      ['answers with what is no packet', answers(200, advertisementType), 'UpstreamInvalid', /no git protocol/],
      [
        'sends capabilities without end',
        (_, response) => {
          response.writeHead(200, advertisementType);
          const line = `000eversion 2\n${`ffe0${'x'.repeat(0xffdc)}`.repeat(40)}`;
          response.end(line);
          return true;
        },
        'LimitExceeded',
        /1048576 bytes/,
      ],
      [
        'sends a small answer that unfolds without end',
        (_, response) => {
          const type = 'application/x-git-upload-pack-advertisement';
          response.writeHead(200, { 'content-type': type, 'content-encoding': 'gzip' });
          const line = `000eversion 2\n${`ffe0${'x'.repeat(0xffdc)}`.repeat(400)}`;
          response.end(gzipSync(line));
          return true;
        },
        'LimitExceeded',
        /1048576 bytes/,
      ],
    ];
    for (const [what, behaviour, reason, message] of faults) {
      test(`${what} is ${reason}, and is read again once it is well`, async () => {
        const { repo, url } = await suite.repository();
        await repo.commitFiles({ a: '1' });
        suite.server.behaviour = behaviour;
        await assert.rejects(look(url, impatient), fault(reason, message));
        suite.server.behaviour = undefined;
        assert.equal((await look(url)).files.size, 1);
      });
    }

    const tampers: [what: string, tamper: Tamper, reason: string][] = [
      ['stops mid-pack and stays silent', stallsMidPack(), 'TimedOut'],
      ['stops mid-pack as if that were all', endsMidPack(), 'UpstreamInvalid'],
      ['cuts the connection mid-pack', cutsMidPack(), 'UpstreamInvalid'],
      ['flips a byte of a pack', flipsByte(35), 'UpstreamInvalid'],
      ["flips a byte of the pack's own checksum", flipsByte(10), 'UpstreamInvalid'],
    ];
    for (const [what, tamper, reason] of tampers) {
      test(`${what} is ${reason}, and is read again once it is well`, async () => {
        const { repo, url } = await suite.repository();
        await repo.commitFiles({ a: 'x'.repeat(500), b: 'y'.repeat(500), 'c/d': 'z' });
        suite.server.tamper = tamper;
        await assert.rejects(look(url, impatient), fault(reason));
        suite.server.tamper = undefined;
        assert.equal((await look(url)).files.size, 3);
      });
    }

    test('stops mid-pack among the wanted files is noticed there too', async () => {
      const { repo, url } = await suite.repository();
      await repo.commitFiles({ a: 'x'.repeat(500), b: 'y'.repeat(500) });
      const memory = newMemory();
      await look(url, { memory, want: () => false });
      for (const [tamper, reason] of [
        [stallsMidPack(), 'TimedOut'],
        [endsMidPack(), 'UpstreamInvalid'],
        [flipsByte(25), 'UpstreamInvalid'],
      ] as const) {
        suite.server.tamper = tamper;
        await assert.rejects(look(url, { ...impatient, memory }), fault(reason));
      }
    });

    test('keeps SHA-256 names is refused by that word', async () => {
      const { repo, url } = await suite.repository({ objectFormat: 'sha256' });
      const commit = 'commit refs/heads/main\ncommitter A <a@example.com> 1700000000 +0000\ndata 1\nx\n';
      await repo.fastImport(`${commit}M 100644 inline a\ndata 1\n1\n`);
      await assert.rejects(look(url), fault('UpstreamInvalid', /SHA-256/));
    });

    const beforePack = kind === 'with partial clone' ? '000dpackfile\n' : '0008NAK\n';
    const resultType = { 'content-type': 'application/x-git-upload-pack-result' };
    const onFetch =
      (text: string | Buffer): GitServer['behaviour'] =>
      (request, response) =>
        request.method === 'POST' &&
        (kind === 'with partial clone'
          ? Number(request.headers['content-length']) > 100
          : request.headers['git-protocol'] === undefined) &&
        answers(200, resultType, text)(request, response);

    for (const [what, text, reason] of [
      ['an error packet', errorPacket('canary'), 'UpstreamInvalid'],
      ['an error packet about the commit', errorPacket('upload-pack: not our ref canary'), 'NotFound'],
      ['an error in the pack', `${beforePack}000b\x03canary0000`, 'UpstreamInvalid'],
      ['a side band that is none', `${beforePack}000b\x07canary0000`, 'UpstreamInvalid'],
      ['no pack', '0000', 'UpstreamInvalid'],
      ['nothing', '', 'UpstreamInvalid'],
      ['an empty pack', emptyPack(beforePack), 'NotFound'],
    ] as const) {
      test(`answers a fetch with ${what} is ${reason}`, async () => {
        const { repo, url } = await suite.repository();
        await repo.commitFiles({ a: '1' });
        suite.server.behaviour = onFetch(text);
        await assert.rejects(look(url), fault(reason));
      });
    }

    test('answers the wanted files with an empty pack is UpstreamInvalid, not an empty source', async () => {
      const { repo, url } = await suite.repository();
      await repo.commitFiles({ a: '1', b: '2', c: '3' });
      const memory = newMemory();
      await look(url, { memory, want: () => false });
      suite.server.behaviour = onFetch(emptyPack(beforePack));
      await assert.rejects(look(url, { memory }), fault('UpstreamInvalid', /3 of the files/));
    });

    test('sends references without end is stopped', async () => {
      const { repo, url } = await suite.repository();
      await repo.commitFiles({ a: '1' });
      let sent = 0;
      suite.server.behaviour = (request, response) => {
        if (request.method !== (versionZero ? 'GET' : 'POST')) return false;
        response.writeHead(200, versionZero ? advertisementType : resultType);
        if (versionZero)
          response.write(`001e# service=git-upload-pack\n00000045${'1'.repeat(40)} refs/heads/main\0shallow\n`);
        const line = `003f${'1'.repeat(40)} refs/heads/canary\n`.repeat(10_000);
        const send = () => {
          while (!response.destroyed && response.write(line)) sent += line.length;
          response.once('drain', send);
        };
        send();
        return true;
      };
      await assert.rejects(look(url), fault('LimitExceeded', /16777216 bytes/));
      assert(sent < 100_000_000);
    });

    test('never answers within the time of the look ends with the reason of the look', async () => {
      const { repo, url } = await suite.repository();
      await repo.commitFiles({ a: '1' });
      for (const [behaviour, tamper] of [
        [silent, undefined],
        [undefined, stallsMidPack()],
      ] as const) {
        suite.server.behaviour = behaviour;
        suite.server.tamper = tamper;
        const late = new UpstreamFault('TimedOut', 'the look took longer than spec.timeout');
        const controller = new AbortController();
        setTimeout(() => controller.abort(late), 300);
        await assert.rejects(look(url, { signal: controller.signal }), (error) => error === late);
      }
    });

    test('is not there is Unreachable', async () => {
      const nobody = createServer();
      nobody.listen(0, '127.0.0.1');
      await new Promise((resolve) => nobody.once('listening', resolve));
      const { port } = nobody.address() as { port: number };
      await new Promise((resolve) => nobody.close(resolve));
      await assert.rejects(look(`git+http://127.0.0.1:${port}/x`), fault('Unreachable'));
    });

    test('stands on loopback is refused where that is not allowed', async () => {
      await assert.rejects(
        look(suite.server.sourceUrl('x.git'), { guard: { allowLoopback: false } }),
        fault('AddressNotAllowed'),
      );
    });
  });
}

/** A fetch's answer with a pack of no objects. */
function emptyPack(beforePack: string): Buffer {
  const pack = Buffer.from('5041434b0000000200000000029d08823bd8a8eab510ad6ac75c823cfd3ed31e', 'hex');
  const length = (pack.length + 5).toString(16).padStart(4, '0');
  return Buffer.concat([Buffer.from(`${beforePack}${length}\x01`), pack, Buffer.from('0000')]);
}

for (const kind of ['with partial clone', 'of version 0'] as const) {
  describe(`from a server ${kind}, in a process of its own, under 300 MB,`, () => {
    const suite = gitSuite(kind);

    /** What came of a look, and what it took. */
    async function lookInChild(url: string) {
      const { stdout } = await run(process.execPath, [
        join(import.meta.dirname, '../fixtures/git-look-child.ts'),
        url,
        JSON.stringify({ forget: true }),
      ]);
      const outcome = JSON.parse(stdout) as {
        files?: string[];
        tooLarge?: [string, number][];
        reason?: string;
        seconds: number;
        peakMebibytes: number;
      };
      assert(outcome.peakMebibytes < 300, `${outcome.peakMebibytes} MiB`);
      return outcome;
    }

    test('a file of 1.5 GB beside a SKILL.md is named, and the skill is read', async () => {
      const { repo, url } = await suite.repository();
      const oid = await repo.blobOfZeros(1536);
      await repo.commitFiles({ 'skills/a/SKILL.md': 'skill', 'skills/a/zeros.bin': { mode: '100644', oid } });
      const outcome = await lookInChild(url);
      assert.deepEqual(outcome.files, ['skills/a/SKILL.md']);
      assert.deepEqual(outcome.tooLarge, [['skills/a/zeros.bin', 1536 * 2 ** 20]]);
    });

    test('a tree that unfolds to ten billion entries is LimitExceeded within two seconds', async () => {
      const { repo, url } = await suite.repository();
      const oid = await repo.blob('x');
      let tree = await repo.rawTree(
        Array.from({ length: 10 }, (_, index) => ({ mode: '100644', name: `f${index}`, oid })),
      );
      for (let level = 0; level < 9; level++) {
        const below = tree;
        tree = await repo.rawTree(
          Array.from({ length: 10 }, (_, index) => ({ mode: '40000', name: `d${index}`, oid: below })),
        );
      }
      await repo.reference('refs/heads/main', await repo.commit(tree));
      const outcome = await lookInChild(url);
      assert.equal(outcome.reason, 'LimitExceeded');
      assert(outcome.seconds < 2, `${outcome.seconds} s`);
    });

    test('files of more than totalSize are LimitExceeded', async () => {
      const { repo, url } = await suite.repository();
      const files: Record<string, Buffer> = {};
      for (let index = 0; index < 70; index++) files[`f${index}`] = Buffer.alloc(4 * 2 ** 20, index);
      await git(['config', 'pack.window', '0'], repo.folder);
      await repo.commitFiles(files);
      assert.equal((await lookInChild(url)).reason, 'LimitExceeded');
    });
  });
}

for (const kind of gitServerKinds) {
  describe(`references of a server ${kind}`, () => {
    const suite = gitSuite(kind);
    const method = kind === 'of version 0' ? 'GET' : 'POST';

    test('that break off are UpstreamInvalid, not fewer references', async () => {
      const { repo, url } = await suite.repository();
      const commit = await repo.commitFiles({ a: '1' });
      await repo.reference('refs/heads/main-2', commit);
      suite.server.tamper = (request, answer, response) => {
        const broken = request.method === method && answer.includes('refs/heads/');
        response.end(broken ? answer.subarray(0, -4) : answer);
      };
      for (const ref of ['main', 'main-2']) {
        await assert.rejects(look(url, { ref }), fault('UpstreamInvalid', /broke off/));
      }
    });
  });
}

const old = gitSuite('of version 0');

test('a reference that no git would have, beside the wanted one, is passed over', async () => {
  const { repo, url } = await old.repository();
  const commit = await repo.commitFiles({ a: '1' });
  const line = `${commit} refs/heads/../a b\n`;
  const odd = (line.length + 4).toString(16).padStart(4, '0') + line;
  old.server.tamper = (request, answer, response) =>
    void response.end(
      request.method === 'GET' ? Buffer.concat([answer.subarray(0, -4), Buffer.from(`${odd}0000`)]) : answer,
    );
  assert.equal((await look(url, { ref: 'main' })).files.size, 1);
});

const only = gitSuite('of version 2 without filter');

test('a file that is packed as a difference too large to be read is named, and the rest is read', async () => {
  const { repo, url } = await only.repository();
  const item = (name: string, oid: string) => Buffer.concat([Buffer.from(`100644 ${name}\0`), Buffer.from(oid, 'hex')]);
  const small = await repo.blob('skill');
  const tree = Buffer.concat([item('SKILL.md', small), item('film.bin', '2'.repeat(40))]);
  const commit = `tree ${await repo.object('tree', tree)}\nauthor A <a> 1 +0000\ncommitter A <a> 1 +0000\n\nx\n`;
  await repo.reference('refs/heads/main', await repo.object('commit', commit));
  const sizes = [5, 0x80, 0x80, 0x80, 0xac, 2];
  const packed = packOf([
    { type: 1, data: Buffer.from(commit) },
    { type: 2, data: tree },
    blob('skill'),
    { type: 6, data: Buffer.from([...sizes, 0x90, 5]), before: 2 },
  ]);
  const length = (packed.length + 5).toString(16).padStart(4, '0');
  only.server.behaviour = (request, response) =>
    request.method === 'POST' &&
    request.headers['git-protocol'] === undefined &&
    answers(
      200,
      { 'content-type': 'application/x-git-upload-pack-result' },
      Buffer.concat([Buffer.from(`0008NAK\n${length}\x01`), packed, Buffer.from('0000')]),
    )(request, response);
  const found = await look(url);
  assert.deepEqual([...found.files.keys()], ['SKILL.md']);
  assert.deepEqual([...found.tooLarge], [['film.bin', 600 * 2 ** 20]]);
});

test('a server that knows version 2 alone, without filter, is UpstreamInvalid and is told how to', async () => {
  const capabilities = '000eversion 2\n000cls-refs\n0012fetch=shallow\n0000';
  only.server.behaviour = (request, response) =>
    request.method === 'GET' && answers(200, advertisementType, capabilities)(request, response);
  const { repo, url } = await only.repository();
  await repo.commitFiles({ a: '1' });
  await assert.rejects(look(url), fault('UpstreamInvalid', /uploadpack\.allowFilter/));
});

test('nothing is left in the temporary folder, however a look ended', async () => {
  assert.deepEqual(
    (await readdir(tmpdir())).filter((name) => name.startsWith(`lyceum-look-${process.pid}-`)),
    [],
  );
});
