// The reading side: what a reader refuses, what it keeps, what it takes over from the version before.
import assert from 'node:assert/strict';
import * as nodeFiles from 'node:fs/promises';
import { readFile, unlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { ContentUnavailable } from '../../catalogue/content.ts';
import { digestOf } from '../../catalogue/digest.ts';
import { FilePool } from '../../catalogue/file-pool.ts';
import { indexFormat } from '../../catalogue/index-file.ts';
import { readIndex } from '../../catalogue/index-reader.ts';
import { indexPath, segmentIndexPath, segmentPath } from '../../catalogue/layout.ts';
import { SegmentReader } from '../../catalogue/segment-reader.ts';
import { sourceCatalogueFormat } from '../../catalogue/source-catalogue.ts';
import { readSourceCatalogue } from '../../catalogue/source-catalogue-reader.ts';
import { CatalogueUnreadable, type UnreadableReason } from '../../catalogue/unreadable.ts';
import { publishSource } from '../../operator/publish/source-publication.ts';
import { Volume } from '../../operator/publish/volume.ts';
import {
  gateway,
  harvestOf,
  publish,
  publishSkills,
  readAll,
  type Skills,
  source,
  temporaryFolder,
} from './support.ts';

const skills = { loki: { 'SKILL.md': 'one' }, tempo: { 'SKILL.md': 'two' } };

const refused = (reason: UnreadableReason, message: RegExp) => (error: unknown) => {
  assert.ok(error instanceof CatalogueUnreadable, String(error));
  assert.equal(error.reason, reason);
  assert.match(error.message, message);
  return true;
};

test('an index.json that cannot be served is refused with its reason', async (t) => {
  await using folder = await temporaryFolder();
  const path = join(folder.path, indexPath(gateway.namespace, gateway.name));
  const read = () => readIndex(folder.path, gateway.namespace, gateway.name);
  await t.test('missing', () =>
    assert.rejects(read(), refused('Missing', /gateways\/flow\/agents\/index.json is not there/)),
  );

  await publish(Volume.at(folder.path), skills, 'v1');
  const whole = await readFile(path, 'utf8');
  const cases: [string, string, UnreadableReason, RegExp][] = [
    ['cut short', whole.slice(0, -20), 'Corrupt', /is not JSON/],
    ['empty', '', 'Corrupt', /is not JSON/],
    ['no object', '[1]', 'Corrupt', /format/],
    [
      'of a newer format',
      JSON.stringify({ format: indexFormat + 1, doors: [] }),
      'NewerFormat',
      /format 3.*up to 2.*upgrade the server/,
    ],
    ['of no format', whole.replace(`"format":${indexFormat}`, '"format":"one"'), 'Corrupt', /format/],
    ['of another shape', whole.replace('"sources"', '"springs"'), 'Corrupt', /sources/],
    ['changed in one letter', whole.replace('"main":', '"mian":').replace('"v1"', '"v2"'), 'Corrupt', /digest/],
  ];
  for (const [what, text, reason, message] of cases) {
    await t.test(what, async () => {
      await writeFile(path, text);
      await assert.rejects(read(), refused(reason, message));
    });
  }
  await t.test('with a field that a later version of the same format added, it is served', async () => {
    const { digest: _digest, ...content } = JSON.parse(whole);
    const { generation: _generation, published: _published, ...counted } = { ...content, later: true };
    await writeFile(path, JSON.stringify({ ...content, later: true, digest: digestOf(JSON.stringify(counted)) }));
    assert.equal((await read()).sources[0]?.revision, 'v1');
  });
});

test('a catalogue file that is not the published one is refused with its reason', async (t) => {
  await using folder = await temporaryFolder();
  const volume = Volume.at(folder.path);
  const { catalogue } = await publishSkills(volume, skills, 'v1');
  const path = join(folder.path, catalogue.path);
  const whole = await readFile(path, 'utf8');
  const rewritten = async (text: string) => {
    await writeFile(path, text);
    return { ...catalogue, size: Buffer.byteLength(text), digest: digestOf(text) };
  };
  await t.test('one letter changed', async () => {
    await writeFile(path, whole.replace('What loki is for', 'What loki is fur'));
    await assert.rejects(readSourceCatalogue(folder.path, catalogue), refused('Corrupt', /digest/));
  });
  await t.test('cut at the end of a line', async () => {
    await writeFile(path, whole.split('\n').slice(0, 2).join('\n'));
    await assert.rejects(readSourceCatalogue(folder.path, catalogue), refused('Corrupt', /digest/));
  });
  await t.test('of a newer format', async () => {
    const ref = await rewritten(
      whole.replace(`"format":${sourceCatalogueFormat}`, `"format":${sourceCatalogueFormat + 1}`),
    );
    await assert.rejects(readSourceCatalogue(folder.path, ref), refused('NewerFormat', /upgrade the server/));
  });
  await t.test('with a line without end', async () => {
    const ref = await rewritten(`${whole}{"row":"${'x'.repeat(5_000_000)}`);
    await assert.rejects(readSourceCatalogue(folder.path, ref), refused('Corrupt', /longer than/));
  });
  await t.test('rows of a kind that a later version added are passed over', async () => {
    const ref = await rewritten(`${whole}{"row":"later","x":1}\n`);
    assert.equal((await readSourceCatalogue(folder.path, ref)).artifacts.length, 2);
  });
  await t.test('missing', async () => {
    await unlink(path);
    await assert.rejects(readSourceCatalogue(folder.path, catalogue), refused('Missing', /catalogues/));
  });
});

test('rows that did not change are the same objects in the next version, those that did are new', async () => {
  await using folder = await temporaryFolder();
  const volume = Volume.at(folder.path);
  const problems = [{ row: 'problem', path: 'x', severity: 'info', reason: 'HiddenFiles', message: 'm' } as const];
  const load = async (content: Skills, revision: string, reuse?: Awaited<ReturnType<typeof readSourceCatalogue>>) => {
    const harvest = { ...harvestOf(content), problems };
    const { catalogue } = await publishSource(volume, source, { harvest, revision, segments: [] });
    return await readSourceCatalogue(folder.path, catalogue, { reuse });
  };
  const first = await load(skills, 'v1');
  const changed = { added: { 'SKILL.md': 'a' }, loki: skills.loki, tempo: { 'SKILL.md': 'changed' } };
  const second = await load(changed, 'v2', first);
  assert.equal(second.artifacts[1], first.artifacts[0]);
  assert.equal(second.problems[0], first.problems[0]);
  assert.deepEqual(second.artifacts, harvestOf(changed).artifacts);
  const third = await load(skills, 'v3', second);
  assert.equal(third.artifacts[0], first.artifacts[0]);
  assert.deepEqual(third.artifacts, harvestOf(skills).artifacts);
});

test('ten thousand skills are loaded without holding up the event loop', async () => {
  await using folder = await temporaryFolder();
  const volume = Volume.at(folder.path);
  const many = Object.fromEntries(
    Array.from({ length: 10_000 }, (_, number) => [
      `skill-${number}`,
      Object.fromEntries(['SKILL.md', 'a.md', 'b.md', 'c.md'].map((path) => [path, `${number} ${path}`])),
    ]),
  );
  const harvest = harvestOf(many);
  const { catalogue } = await publishSource(volume, source, { harvest, revision: 'v1', segments: [] });
  // The thread's own processor time between two turns: what other programs do on the machine does not count.
  const spent = () => {
    const { user, system } = process.threadCpuUsage();
    return (user + system) / 1000;
  };
  let longest = 0;
  let turns = 0;
  let last = spent();
  const timer = setInterval(() => {
    const now = spent();
    longest = Math.max(longest, now - last);
    last = now;
    turns++;
  }, 1);
  const loaded = await readSourceCatalogue(folder.path, catalogue);
  clearInterval(timer);
  assert.equal(loaded.artifacts.length, 10_000);
  // A slice lasts 4 ms; the rest is room for a collection of garbage. At one go it takes over 100 ms.
  assert.ok(longest < 50, `the event loop stood still for ${longest.toFixed(1)} ms`);
  assert.ok(turns > 10, `the event loop turned ${turns} times`);
});

test('a flipped byte in a segment is content that is not available, never wrong content', async () => {
  await using folder = await temporaryFolder();
  const { segments } = await publishSkills(Volume.at(folder.path), skills, 'v1');
  const path = join(folder.path, segmentPath(source.namespace, source.name, segments[0]!.digest));
  const bytes = await readFile(path);
  bytes[0] = bytes[0]! ^ 1;
  await writeFile(path, bytes);
  const reader = new SegmentReader(folder.path);
  await reader.use([{ ...source, segments }]);
  const reads = await Promise.allSettled(['one', 'two'].map((content) => reader.read(digestOf(content))));
  const failed = reads.find(({ status }) => status === 'rejected') as PromiseRejectedResult;
  assert.ok(failed.reason instanceof ContentUnavailable);
  assert.deepEqual(reads.map(({ status }) => status).sort(), ['fulfilled', 'rejected']);
  reader.close();
});

test('content is read from any other segment that holds it when one is damaged', async () => {
  await using folder = await temporaryFolder();
  const volume = Volume.at(folder.path);
  const other = { ...source, name: 'other' };
  const first = await publishSkills(volume, { loki: { 'SKILL.md': 'shared' } }, 'v1');
  const second = await publishSkills(volume, { mine: { 'SKILL.md': 'shared' } }, 'v1', other);
  const reader = new SegmentReader(folder.path);
  await reader.use([
    { ...source, segments: first.segments },
    { ...other, segments: second.segments },
  ]);
  await volume.write(segmentPath(source.namespace, source.name, first.segments[0]!.digest), Buffer.from('shaped'));
  assert.equal((await reader.read(digestOf('shared'))).toString(), 'shared');
  reader.close();
});

test('a reader refuses segments that are not whole, and goes on with those it has', async (t) => {
  await using folder = await temporaryFolder();
  const volume = Volume.at(folder.path);
  const { segments } = await publishSkills(volume, skills, 'v1');
  const [ref] = (await publishSkills(volume, { ...skills, more: { 'SKILL.md': 'three' } }, 'v2')).segments.slice(1);
  const reader = new SegmentReader(folder.path);
  await reader.use([{ ...source, segments }]);
  const damage = async (path: string, bytes: Buffer | undefined, reason: UnreadableReason) => {
    const before = await readFile(join(folder.path, path));
    if (bytes === undefined) await volume.remove(path);
    else await volume.write(path, bytes);
    await assert.rejects(reader.use([{ ...source, segments: [...segments, ref!] }]), refused(reason, new RegExp(path)));
    assert.equal((await reader.read(digestOf('one'))).toString(), 'one');
    await volume.write(path, before);
  };
  const segment = segmentPath(source.namespace, source.name, ref!.digest);
  const index = segmentIndexPath(source.namespace, source.name, ref!.digest);
  const record = await readFile(join(folder.path, index));
  await t.test('segment missing', () => damage(segment, undefined, 'Missing'));
  await t.test('segment cut short', () => damage(segment, Buffer.from('thr'), 'Corrupt'));
  await t.test('index missing', () => damage(index, undefined, 'Missing'));
  await t.test('index cut short', () => damage(index, record.subarray(0, 40), 'Corrupt'));
  await t.test('index that points outside', () =>
    damage(index, Buffer.concat([record.subarray(0, 43), Buffer.from([200])]), 'Corrupt'),
  );
  await reader.use([{ ...source, segments: [...segments, ref!] }]);
  assert.equal((await reader.read(digestOf('three'))).toString(), 'three');
  reader.close();
});

test('content of the catalogue before is still read after a new one came, and no longer after the next', async () => {
  await using folder = await temporaryFolder();
  const volume = Volume.at(folder.path);
  const reader = new SegmentReader(folder.path);
  for (const version of ['1', '2', '3']) {
    const { segments } = await publishSkills(volume, { loki: { 'SKILL.md': version } }, version);
    await reader.use([{ ...source, segments }]);
  }
  assert.equal((await reader.read(digestOf('3'))).toString(), '3');
  assert.equal((await reader.read(digestOf('2'))).toString(), '2');
  await assert.rejects(reader.read(digestOf('1')), ContentUnavailable);
  await assert.rejects(reader.read('sha256:nonsense'), ContentUnavailable);
  reader.close();
});

test('a segment that is no longer served is not kept open, so that deleting it frees the disk', async () => {
  await using folder = await temporaryFolder();
  const volume = Volume.at(folder.path);
  const open = new Set<string>();
  const watched = async (path: string, flags: string) => {
    const handle = await nodeFiles.open(path, flags);
    open.add(path);
    const close = handle.close.bind(handle);
    return Object.assign(handle, {
      close: async () => {
        open.delete(path);
        await close();
      },
    });
  };
  const reader = new SegmentReader(folder.path, new FilePool(8, watched as never));
  const use = async (version: string): Promise<string> => {
    const { segments } = await publishSkills(volume, { loki: { 'SKILL.md': version } }, version);
    await reader.use([{ ...source, segments }]);
    await reader.read(digestOf(version));
    return join(folder.path, segmentPath(source.namespace, source.name, segments[0]!.digest));
  };
  const first = await use('1');
  assert.deepEqual([...open], [first]);
  const second = await use('2');
  await nextTurn();
  assert.deepEqual([...open], [second]);
  assert.equal((await reader.read(digestOf('1'))).toString(), '1', 'by a request that began before');
  reader.close();
});

test('a file handle that the file server no longer knows is opened again', async () => {
  await using folder = await temporaryFolder();
  const { segments } = await publishSkills(Volume.at(folder.path), skills, 'v1');
  // No local file system forgets an open file; this stands in for an NFS server that does.
  let opened = 0;
  const forgetting = async (path: string, flags: string) => {
    const handle = await nodeFiles.open(path, flags);
    opened += 1;
    if (opened !== 1) return handle;
    const read = () => Promise.reject(Object.assign(new Error('stale'), { code: 'ESTALE' }));
    return Object.assign(handle, { read });
  };
  const reader = new SegmentReader(folder.path, new FilePool(8, forgetting as never));
  await reader.use([{ ...source, segments }]);
  assert.equal((await reader.read(digestOf('one'))).toString(), 'one');
  assert.equal(opened, 2);
  reader.close();
});

test('however many segments there are, few files stay open, and all are read', async () => {
  await using folder = await temporaryFolder();
  const volume = Volume.at(folder.path);
  const keys = Array.from({ length: 12 }, (_, number) => ({ ...source, name: `pack-${number}` }));
  const sources = [];
  for (const key of keys) {
    const { segments } = await publishSkills(volume, { loki: { 'SKILL.md': key.name } }, 'v1', key);
    sources.push({ ...key, segments });
  }
  let open = 0;
  let most = 0;
  const counting = async (path: string, flags: string) => {
    const handle = await nodeFiles.open(path, flags);
    open += 1;
    most = Math.max(most, open);
    const close = handle.close.bind(handle);
    return Object.assign(handle, {
      close: async () => {
        open -= 1;
        await close();
      },
    });
  };
  const reader = new SegmentReader(folder.path, new FilePool(3, counting as never));
  await reader.use(sources);
  for (let round = 0; round < 2; round++) {
    for (const { name } of keys) assert.equal((await reader.read(digestOf(name))).toString(), name);
  }
  assert.ok(most <= 4, `${most} files were open at once`);
  const all = await Promise.all(keys.map(({ name }) => reader.read(digestOf(name))));
  assert.deepEqual(
    all.map(String),
    keys.map(({ name }) => name),
  );
  reader.close();
});

test('a reader that meets a damaged index.json reads the catalogue it has', async () => {
  await using folder = await temporaryFolder();
  const volume = Volume.at(folder.path);
  await publish(volume, skills, 'v1');
  const reader = new SegmentReader(folder.path);
  const { catalogues } = await readAll(folder.path, reader);
  await volume.write(indexPath(gateway.namespace, gateway.name), Buffer.from('{'));
  await assert.rejects(readAll(folder.path, reader), refused('Corrupt', /index.json/));
  const [first] = catalogues[0]!.artifacts[0]!.files;
  assert.equal((await reader.read(first!.digest)).toString(), 'one');
  reader.close();
});

test('the name of a file, which a damaged index.json may give, is told in a few words', () => {
  const { message } = new CatalogueUnreadable('Missing', 'x/'.repeat(5000), 'is not there');
  assert.match(message, /^x\/x\/.*… is not there$/);
  assert.ok(message.length < 300, `${message.length} characters`);
});
