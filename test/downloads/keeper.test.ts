// What the operator keeps of its servers' counts, on a real volume: nothing twice, nothing of others, whatever happens to the disk.
import assert from 'node:assert/strict';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { test } from 'node:test';
import { pino } from 'pino';
import { downloadsPath } from '../../catalogue/layout.ts';
import { DownloadsKeeper } from '../../operator/downloads/keeper.ts';
import { collect } from '../../operator/publish/collect.ts';
import { Volume } from '../../operator/publish/volume.ts';
import { FakeClock } from '../kubernetes/fake-clock.ts';
import { filesWithSteps, type Step } from '../volume/steps.ts';
import { temporaryFolder } from '../volume/support.ts';
import { downloadsOn, installsIn, Replica } from './support.ts';

const gateway = 'flow/agents';
const path = downloadsPath('flow', 'agents');
const loki = 'skill grafana/loki';

interface Kept {
  root: string;
  clock: FakeClock;
  volume: Volume;
  keeper: DownloadsKeeper;
  counted: Record<string, number>;
  said: string[];
  installs(): Promise<Record<string, number>>;
}

async function withKeeper(
  action: (kept: Kept) => Promise<void>,
  {
    before,
    artifacts = () => new Set([loki]),
  }: {
    before?: (step: Step) => void;
    artifacts?: (gateway: string) => ReadonlySet<string> | undefined;
  } = {},
): Promise<void> {
  await using folder = await temporaryFolder();
  const volume = Volume.at(folder.path, ...(before === undefined ? [] : [filesWithSteps(before)]));
  const clock = new FakeClock();
  const counted: Record<string, number> = {};
  const said: string[] = [];
  const add = (what: string, times = 1): void => {
    counted[what] = (counted[what] ?? 0) + times;
  };
  const keeper = new DownloadsKeeper({
    volume,
    artifacts,
    metrics: { batch: (result) => add(result), unknown: (times) => add('unknown', times) },
    clock,
    log: pino({}, { write: (line: string) => void said.push(line) }),
  });
  const installs = async () => installsIn(await downloadsOn(folder.path, gateway));
  try {
    await action({ root: folder.path, clock, volume, keeper, counted, said, installs });
  } finally {
    await keeper.close();
  }
}

/** Keeps one batch after the other: the file's second of rest passes at once. */
async function keep({ keeper, clock }: Kept, sent: unknown, whose = gateway): Promise<string> {
  const kept = keeper.keep(whose, sent);
  clock.advance(1_000);
  return await kept;
}

test('batches that come together are one write, and no two writes are in one second', async () => {
  let writes = 0;
  const before = ({ action, path: target }: Step): void => {
    if (action === 'rename' && target.endsWith('downloads.json')) writes += 1;
  };
  await withKeeper(
    async (kept) => {
      const { keeper, clock } = kept;
      const servers = Array.from({ length: 20 }, () => new Replica());
      assert.equal(await keeper.keep(gateway, new Replica().batch({ [loki]: 1 })), 'kept');
      const waiting = servers.map((server) => keeper.keep(gateway, server.batch({ [loki]: 1 })));
      assert.equal(await clock.pause(), 1_000);
      assert.equal(writes, 1);
      clock.advance(1_000);
      assert.deepEqual(new Set(await Promise.all(waiting)), new Set(['kept']));
      assert.equal(writes, 2);
      assert.deepEqual(await kept.installs(), { [loki]: 21 });
      assert.deepEqual(kept.counted, { kept: 21 });
    },
    { before },
  );
});

test('an operator that stops writes what waits, without a rest', async () => {
  await withKeeper(async (kept) => {
    const { keeper } = kept;
    const server = new Replica();
    await keeper.keep(gateway, server.batch({ [loki]: 1 }));
    const last = keeper.keep(gateway, server.batch({ [loki]: 1 }));
    await keeper.close();
    assert.equal(await last, 'kept');
    assert.deepEqual(await kept.installs(), { [loki]: 2 });
  });
});

test('a disk that is full at any step loses no count and counts none twice: the batch comes again', async () => {
  let failAt = Number.POSITIVE_INFINITY;
  let step = 0;
  const before = (): void => {
    step += 1;
    if (step === failAt) throw Object.assign(new Error('no space'), { code: 'ENOSPC' });
  };
  await withKeeper(
    async (kept) => {
      const server = new Replica();
      let total = 0;
      for (failAt = 1; ; failAt++) {
        step = 0;
        const batch = server.batch({ [loki]: 1 });
        total += 1;
        const sent = keep(kept, batch);
        const failed = await sent.then(
          () => false,
          (error: Error) => {
            assert.match(error.message, /downloads\.json \(ENOSPC\): the volume is full/);
            return true;
          },
        );
        if (!failed) break;
        step = Number.NEGATIVE_INFINITY;
        await keep(kept, batch);
        assert.deepEqual(await kept.installs(), { [loki]: total }, `at step ${failAt}`);
        assert.deepEqual(await kept.volume.list('tmp'), []);
      }
      assert.ok(total > 4, `${total} steps`);
      assert.equal(kept.counted.failed, total - 1);
    },
    { before },
  );
});

test('a file that is damaged is begun anew, and that is said; one of a newer version is left as it is', async () => {
  await withKeeper(async (kept) => {
    const file = join(kept.root, path);
    await mkdir(dirname(file), { recursive: true });
    for (const text of ['', '{"format":1,', '[]', '{"format":1,"artifacts":{"a":{"install":-1}},"replicas":{}}']) {
      await writeFile(file, text);
      assert.equal(await keep(kept, new Replica().batch({ [loki]: 1 })), 'kept');
      assert.deepEqual(await kept.installs(), { [loki]: 1 });
      assert.match(kept.said.pop()!, /downloads\.json .*counted from nothing again/);
    }
    const newer = '{"format":2,"artifacts":[]}';
    await writeFile(file, newer);
    await assert.rejects(keep(kept, new Replica().batch({ [loki]: 1 })), /downloads\.json has format 2/);
    assert.equal(await readFile(file, 'utf8'), newer);
  });
});

test('a gateway of which nothing is known yet lets its servers wait', async () => {
  let artifacts: ReadonlySet<string> | undefined;
  await withKeeper(
    async (kept) => {
      const batch = new Replica().batch({ [loki]: 1 });
      await assert.rejects(keep(kept, batch), /not known yet/);
      artifacts = new Set([loki]);
      assert.equal(await keep(kept, batch), 'kept');
    },
    { artifacts: () => artifacts },
  );
});

test('gateways have their files for themselves, one that cannot be written holds up no other', async () => {
  const before = ({ path: target }: Step): void => {
    if (target.includes('/broken')) throw Object.assign(new Error('read-only'), { code: 'EROFS' });
  };
  await withKeeper(
    async (kept) => {
      const server = new Replica();
      const broken = assert.rejects(kept.keeper.keep('flow/broken', server.batch({ [loki]: 1 })), /EROFS/);
      assert.equal(await kept.keeper.keep(gateway, server.batch({ [loki]: 1 })), 'kept');
      await broken;
      assert.deepEqual(await kept.installs(), { [loki]: 1 });
    },
    { before },
  );
});

test('what is no batch is refused, whatever it is, and nothing is written', async () => {
  await withKeeper(async (kept) => {
    const { replica, sequence, counts } = new Replica().batch({ [loki]: 1 });
    const row = counts[0]!;
    const many = Array.from({ length: 501 }, (_, at) => ({ ...row, artifact: `skill grafana/${at}` }));
    const wrong: Record<string, unknown> = {
      nothing: undefined,
      'a list': [],
      text: 'x',
      'no replica': { sequence, counts },
      'a replica that is a path': { replica: '../../etc', sequence, counts },
      'a sequence of 0': { replica, sequence: 0, counts },
      'a sequence beyond all numbers': { replica, sequence: 1e300, counts },
      'no counts': { replica, sequence, counts: [] },
      'too many counts': { replica, sequence, counts: many },
      'a huge count': { replica, sequence, counts: [{ ...row, install: 1e15 }] },
      'a negative count': { replica, sequence, counts: [{ ...row, install: -1 }] },
      'half a download': { replica, sequence, counts: [{ ...row, install: 0.5 }] },
      'a count in words': { replica, sequence, counts: [{ ...row, install: '1' }] },
      'an endless name': { replica, sequence, counts: [{ ...row, artifact: 'x'.repeat(10_000) }] },
      'a field that there is not': { replica, sequence, counts, gateway: 'flow/others' },
    };
    for (const [what, sent] of Object.entries(wrong)) assert.equal(await keep(kept, sent), 'refused', what);
    assert.deepEqual(kept.counted, { refused: Object.keys(wrong).length });
    assert.equal(await kept.volume.stat(path), undefined);
    assert.equal(await keep(kept, { replica, sequence, counts }), 'kept');
  });
});

test('the file stays while its gateway is there, however old it is, and goes with it', async () => {
  await withKeeper(async (kept) => {
    await keep(kept, new Replica().batch({ [loki]: 1 }));
    const later = Date.now() + 400 * 24 * 3_600_000;
    const named = { source: () => false, gateway: () => true };
    await collect(kept.volume, named, later);
    assert.deepEqual(await kept.installs(), { [loki]: 1 });
    await collect(kept.volume, { ...named, gateway: () => false }, later);
    assert.equal(await kept.volume.stat(path), undefined);
  });
});
