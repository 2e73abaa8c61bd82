// Each proof in its smallest size, as `make chaos` runs it.
import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { LyceumProcess } from '../fixtures/lyceum-process.ts';

async function chaos(env: NodeJS.ProcessEnv, ...proofs: string[]): Promise<{ code: number | null; said: string }> {
  await using run = new LyceumProcess(proofs, {
    env: { ...env, KEEP: 'no' },
    program: `${import.meta.dirname}/run.ts`,
  });
  return { code: await run.ended(), said: run.said };
}

test('operators are killed while they publish, and nobody reads anything wrong', async () => {
  const { code, said } = await chaos({ KILLS: '2' }, 'kills');
  assert.equal(code, 0, said);
  assert.match(said, /^ {2}SEED=\d+$/m);
  assert.match(said, /^kills +holds +\d+ s +\d+ kills, [\d,]+ reads, \d+ publications, 0 faults, 0 lost catalogues$/m);
});

test('an operator goes on after its API server was restarted', async () => {
  const { code, said } = await chaos({ FAULTS: 'restarted', ROUNDS: '1' }, 'api-server');
  assert.equal(code, 0, said);
  assert.match(said, /^api-server +holds +\d+ s +1 faults, /m);
});

test('an operator needs every right that the chart grants, and no other', async () => {
  const { code, said } = await chaos({}, 'rbac');
  assert.equal(code, 0, said);
  assert.match(said, /^rbac +holds /m);
});

test('whoever asks for a proof, fault or size that there is not is told what there is', async () => {
  assert.deepEqual(await chaos({}, 'sinks'), {
    code: 2,
    said: 'no proof is called sinks: there are kills, api-server, two-operators, rolling, sources, rbac, canary, scale, disk, fuzz',
  });
  const before = existsSync(join(import.meta.dirname, 'results/api-server.json'));
  const unknown = await chaos({ FAULTS: 'flood' }, 'api-server');
  assert.equal(unknown.code, 1);
  assert.match(unknown.said, /FAULTS=flood: there are restarted, gone, refused, slow, etcd, frozen/);
  assert.equal(
    existsSync(join(import.meta.dirname, 'results/api-server.json')),
    before,
    'what a full run found is left alone',
  );
  const none = await chaos({ KILLS: 'many' }, 'kills');
  assert.equal(none.code, 1);
  assert.match(none.said, /KILLS=many: a whole number above 0/);
});
