// Packs read as they arrive: every object by its own name, deltas in any order, damage found, memory bounded.
import assert from 'node:assert/strict';
import { createHash, randomBytes } from 'node:crypto';
import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { UpstreamFault } from '../../../upstream/fault.ts';
import { type GitObject, objectName } from '../../../upstream/git/objects.ts';
import { type PackOptions, readPack } from '../../../upstream/git/pack.ts';
import { UnfoldBudget } from '../../../upstream/git/unfold-budget.ts';
import { UnpackedStore } from '../../../upstream/git/unpacked-store.ts';
import { blob, deltaSize, deltaTo, type Entry, packOf } from '../../fixtures/git-pack.ts';
import { entryHeader } from '../../fixtures/git-repository.ts';

const mebibyte = 2 ** 20;

async function read(
  t: TestContext,
  pack: Buffer | AsyncIterable<Buffer>,
  more: Partial<PackOptions> = {},
): Promise<{ whole: Map<string, GitObject>; large: Map<string, number>; passedOver: number[]; folder: string }> {
  const folder = await mkdtemp(join(tmpdir(), 'lyceum-pack-'));
  t.after(() => rm(folder, { recursive: true, force: true }));
  const whole = new Map<string, GitObject>();
  const large = new Map<string, number>();
  const passedOver: number[] = [];
  const store = new UnpackedStore(join(folder, 'pack'));
  const options: PackOptions = {
    name: 'git.example.org',
    maxObjects: 1000,
    keep: 4 * mebibyte,
    largest: 0,
    budget: new UnfoldBudget(512 * mebibyte, 'the wanted files'),
    store,
    signal: new AbortController().signal,
    ...more,
  };
  await readPack(Buffer.isBuffer(pack) ? inPieces(pack, 65_515) : pack, options, {
    whole: (oid, object) => void whole.set(oid, object),
    large: (oid, _type, size) => void large.set(oid, size),
    passedOver: (size) => void passedOver.push(size),
  }).finally(() => store.close());
  assert.deepEqual(await readdir(folder), [], 'nothing is left in the scratch folder');
  return { whole, large, passedOver, folder };
}

async function* inPieces(bytes: Buffer, size: number): AsyncGenerator<Buffer> {
  for (let at = 0; at < bytes.length; at += size) yield bytes.subarray(at, at + size);
}

const name = (data: Buffer | string) => objectName('blob', Buffer.from(data as string));
const texts = ({ whole }: { whole: Map<string, GitObject> }) => [...whole.values()].map(({ data }) => data.toString());

const fault =
  (reason: string, message = /./) =>
  (error: unknown) => {
    assert(error instanceof UpstreamFault, String(error));
    assert.equal(error.reason, reason);
    assert.match(error.message, message);
    return true;
  };

test('objects of every size and type come out under their names, however the bytes are cut', async (t) => {
  const contents = [
    '',
    'x',
    randomBytes(200),
    randomBytes(100_000),
    Buffer.alloc(300_000, 'ab'),
    randomBytes(2 * mebibyte),
  ];
  const pack = packOf([
    ...contents.map(blob),
    { type: 1, data: Buffer.from('tree') },
    { type: 4, data: Buffer.from('t') },
  ]);
  for (const size of [61, 4096, pack.length]) {
    const { whole } = await read(t, inPieces(pack, size));
    assert.deepEqual([...whole.keys()].slice(0, 6), contents.map(name));
    assert.deepEqual([...whole.values()].map(({ type }) => type).slice(5), ['blob', 'commit', 'tag']);
    for (const content of contents) assert(whole.get(name(content))?.data.equals(Buffer.from(content as string)));
  }
});

test('a pack that comes byte by byte is read', async (t) => {
  const { whole } = await read(t, inPieces(packOf([blob('one'), blob('two')]), 1));
  assert.deepEqual([...whole.keys()], [name('one'), name('two')]);
});

test('an empty pack has no objects', async (t) => {
  assert.equal((await read(t, packOf([]))).whole.size, 0);
});

test('deltas are resolved through their chain, by offset and by name', async (t) => {
  const result = await read(
    t,
    packOf([
      blob('first'),
      { type: 6, data: deltaTo('first', 'second text'), before: 0 },
      { type: 7, data: deltaTo('second text', 'third'), oid: name('second text') },
    ]),
  );
  assert.deepEqual(texts(result), ['first', 'second text', 'third']);
});

test('deltas that come before their bases are resolved too', async (t) => {
  const result = await read(
    t,
    packOf([
      { type: 7, data: deltaTo('b', 'c'), oid: name('b') },
      { type: 6, data: deltaTo('c', 'd'), before: 0 },
      { type: 7, data: deltaTo('a', 'b'), oid: name('a') },
      blob('a'),
    ]),
  );
  assert.deepEqual(texts(result).sort(), ['a', 'b', 'c', 'd']);
});

test('a chain of ten thousand deltas, last link first, is read in linear time', async (t) => {
  const entries: Entry[] = [];
  for (let link = 10_000; link > 0; link--) {
    entries.push({ type: 7, data: deltaTo(`${link - 1}`, `${link}`), oid: name(`${link - 1}`) });
  }
  const { whole } = await read(t, packOf([...entries, blob('0')]), { maxObjects: 20_000 });
  assert.equal(whole.size, 10_001);
});

test('a thin pack builds on objects at hand', async (t) => {
  const old = Buffer.from('old tree');
  const base = (oid: string): GitObject | undefined =>
    oid === objectName('tree', old) ? { type: 'tree', data: old } : undefined;
  const { whole } = await read(t, packOf([{ type: 7, data: deltaTo(old, 'new tree'), oid: objectName('tree', old) }]), {
    base,
  });
  assert.deepEqual([...whole.keys()], [objectName('tree', Buffer.from('new tree'))]);
});

test('a delta whose base never comes is passed over', async (t) => {
  const result = await read(t, packOf([{ type: 7, data: deltaTo('a', 'b'), oid: name('a') }, blob('c')]));
  assert.deepEqual(texts(result), ['c']);
});

test('bases that no longer fit into memory are read back', async (t) => {
  const contents = Array.from({ length: 8 }, () => randomBytes(3 * mebibyte));
  const firstKilobyte = (content: Buffer): Buffer => {
    const baseSize = deltaTo(content, '').subarray(0, 4);
    return Buffer.concat([baseSize, Buffer.from([0x80, 0x08, 0xb0, 0x00, 0x04])]);
  };
  const deltas = contents.map((content, index): Entry => ({ type: 6, data: firstKilobyte(content), before: index }));
  const { whole } = await read(t, packOf([...contents.map(blob), ...deltas]));
  assert.equal(whole.size, 16);
  for (const content of contents) assert(whole.has(name(content.subarray(0, 1024))));
});

test('an object that unfolds to more than it states is given up at once', async (t) => {
  const pack = packOf([{ ...blob(Buffer.alloc(300 * mebibyte)), size: 300_000 }]);
  let taken = 0;
  async function* pieces() {
    for await (const piece of inPieces(pack, 10_000)) {
      taken += piece.length;
      yield piece;
    }
  }
  await assert.rejects(read(t, pieces()), fault('UpstreamInvalid'));
  assert(taken < pack.length / 2, `${taken} of ${pack.length} bytes`);
});

test('an object over the limit is named with its size and not kept', async (t) => {
  const middle = Buffer.alloc(100_000, 'm');
  const huge = Buffer.alloc(20 * mebibyte, 'h');
  const { whole, large } = await read(t, packOf([blob('small'), blob(middle), blob(huge)]), { keep: 1000 });
  assert.deepEqual([...whole.keys()], [name('small')]);
  assert.deepEqual(
    [...large],
    [
      [name(middle), middle.length],
      [name(huge), huge.length],
    ],
  );
});

test('an object at the limit is kept', async (t) => {
  const { whole, large } = await read(t, packOf([blob('x'.repeat(1000)), blob('x'.repeat(1001))]), { keep: 1000 });
  assert.equal(whole.size, 1);
  assert.deepEqual([...large.values()], [1001]);
});

test('a small base of a delta may itself be over the limit', async (t) => {
  const base = 'b'.repeat(5000);
  const { whole, large } = await read(t, packOf([blob(base), { type: 6, data: deltaTo(base, 'tiny'), before: 0 }]), {
    keep: 1000,
  });
  assert.deepEqual(texts({ whole }), ['tiny']);
  assert.deepEqual([...large], [[name(base), 5000]]);
});

test('a delta that states a result beyond memory is passed over without making room for it', async (t) => {
  const delta = Buffer.from([5, 0xff, 0xff, 0xff, 0xff, 0x7f, 0x90, 5]);
  const result = await read(t, packOf([blob('first'), { type: 6, data: delta, before: 0 }, blob('last')]));
  assert.deepEqual(texts(result), ['first', 'last']);
  assert.deepEqual(result.passedOver, [2 ** 35 - 1]);
});

test('a delta that is itself beyond memory is passed over, and what it would give is told', async (t) => {
  const size = 17 * mebibyte;
  const insertions = Buffer.alloc(size + size / 127, Buffer.concat([Buffer.from([127]), Buffer.alloc(127, 'x')]));
  const delta = Buffer.concat([deltaSize(5), deltaSize(size), insertions]);
  const result = await read(t, packOf([blob('first'), { type: 6, data: delta, before: 0 }, blob('last')]));
  assert.deepEqual(texts(result), ['first', 'last']);
  assert.deepEqual(result.passedOver, [size]);
});

test('with room in the file, deltas on large objects and deltas that give large objects come out, in any order', async (t) => {
  const size = 17 * mebibyte;
  const zeros = Buffer.alloc(size);
  const longer = Buffer.concat([zeros, Buffer.from('end')]);
  const longest = Buffer.concat([longer, Buffer.from('!')]);
  const part = Buffer.concat([Buffer.alloc(1000), Buffer.from('part')]);
  const small = Buffer.from('small');
  const pack = packOf([
    { type: 7, data: deltaTo(zeros, part, 1000), oid: name(zeros) },
    blob(zeros),
    { type: 6, data: deltaTo(zeros, longer, size), before: 1 },
    { type: 7, data: deltaTo(longer, longest, size), oid: name(longer) },
    blob(small),
    { type: 6, data: deltaTo(longer, 'from a delta'), before: 2 },
  ]);
  const { whole, large } = await read(t, pack, { largest: 64 * mebibyte });
  assert.deepEqual([...whole.keys()].sort(), [part, small, 'from a delta'].map(name).sort());
  assert.deepEqual(
    [...large],
    [zeros, longer, longest].map((bytes) => [name(bytes), bytes.length]),
  );
});

test('what unfolds to more than the budget ends as LimitExceeded, kept or not', async (t) => {
  const zeros = Buffer.alloc(20 * mebibyte);
  const budget = () => new UnfoldBudget(10 * mebibyte, 'the wanted files');
  await assert.rejects(
    read(t, packOf([blob(zeros)]), { budget: budget(), keep: 100 }),
    fault('LimitExceeded', /10 MiB/),
  );
  const many = Array.from({ length: 11 }, (_, index) => blob(Buffer.alloc(mebibyte, `${index}`)));
  await assert.rejects(read(t, packOf(many), { budget: budget() }), fault('LimitExceeded', /10 MiB/));
});

test('more objects than the limit are refused before the first is read', async (t) => {
  await assert.rejects(read(t, packOf([], 1001)), fault('LimitExceeded', /1000 objects/));
});

test('every flipped byte is found, whichever it is', async (t) => {
  const pack = packOf([
    blob('first text'),
    { type: 6, data: deltaTo('first text', 'second'), before: 0 },
    blob('third'),
  ]);
  for (let at = 0; at < pack.length; at++) {
    const flipped = Buffer.from(pack);
    flipped[at]! ^= 0x10;
    await assert.rejects(read(t, flipped), UpstreamFault, `byte ${at}`);
  }
});

test('a pack that stops at any byte is UpstreamInvalid', async (t) => {
  const pack = packOf([
    blob('first text'),
    { type: 6, data: deltaTo('first text', 'second'), before: 0 },
    blob('third'),
  ]);
  for (let length = 0; length < pack.length; length++) {
    await assert.rejects(read(t, pack.subarray(0, length)), fault('UpstreamInvalid'), `${length} bytes`);
  }
});

test('a large object that stops or is damaged in its middle is UpstreamInvalid', async (t) => {
  const pack = packOf([blob(randomBytes(20 * mebibyte))]);
  await assert.rejects(read(t, inPieces(pack.subarray(0, 10 * mebibyte), 65_536)), fault('UpstreamInvalid'));
  const flipped = Buffer.from(pack);
  flipped[10 * mebibyte]! ^= 1;
  await assert.rejects(read(t, inPieces(flipped, 65_536)), fault('UpstreamInvalid'));
});

test('bytes behind the pack, a wrong size and an unknown type are UpstreamInvalid', async (t) => {
  await assert.rejects(read(t, Buffer.concat([packOf([blob('x')]), Buffer.from('y')])), fault('UpstreamInvalid'));
  for (const size of [2, 4, 300_000, 20 * mebibyte]) {
    await assert.rejects(read(t, packOf([{ ...blob('abc'), size }])), fault('UpstreamInvalid'), `${size}`);
  }
  await assert.rejects(read(t, packOf([{ ...blob(Buffer.alloc(300_000)), size: 299_999 }])), fault('UpstreamInvalid'));
  await assert.rejects(read(t, packOf([{ ...blob('x'), type: 5 }])), fault('UpstreamInvalid'));
});

test('a small object packed more loosely than packers do is read', async (t) => {
  const flushed = Buffer.concat([
    Buffer.from([0x78, 0x01]),
    ...Array.from({ length: 100 }, () => Buffer.from([0, 0, 0, 0xff, 0xff])),
    Buffer.from([1, 1, 0, 0xfe, 0xff, 0x78]),
    Buffer.from([0, 0x79, 0, 0x79]),
  ]);
  const body = Buffer.concat([Buffer.from('PACK\0\0\0\x02\0\0\0\x01', 'latin1'), entryHeader(3, 1), flushed]);
  const result = await read(t, Buffer.concat([body, createHash('sha1').update(body).digest()]));
  assert.deepEqual(texts(result), ['x']);
});

test('the signal ends a large object in its middle', async (t) => {
  const late = new UpstreamFault('TimedOut', 'the look took longer than spec.timeout');
  const controller = new AbortController();
  const pack = packOf([blob(Buffer.alloc(60 * mebibyte))]);
  async function* pieces() {
    yield pack.subarray(0, 30_000);
    controller.abort(late);
    yield pack.subarray(30_000);
  }
  await assert.rejects(read(t, pieces(), { signal: controller.signal }), (error) => error === late);
});
