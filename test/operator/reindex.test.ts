// A look at everything that a gateway serves, now, for whoever waits for it: against a whole operator and a real git server.
import assert from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import type { Reindexed } from '../../operator/gateway/reindex.ts';
import { eventually } from '../fixtures/eventually.ts';
import { GitFixture } from '../fixtures/git-repository.ts';
import { type GitServer, startGitServer } from '../fixtures/git-server.ts';
import { OperatorFixture, skillText } from '../fixtures/operator.ts';

let root: string;
let git: GitServer;
before(async () => {
  root = await mkdtemp(join(tmpdir(), 'lyceum-git-'));
  git = await startGitServer({ root });
});
after(async () => {
  await git.close();
  await rm(root, { recursive: true, force: true });
});

/** For a git server that a test holds up. */
const patient = { guard: { allowLoopback: true, deniedCidrs: [], idleTimeout: 30_000 } };

const isAt =
  (operator: OperatorFixture, name: string) =>
  (wanted: string): Promise<unknown> =>
    eventually(
      `${name} is ${wanted}`,
      () => operator.cluster.condition('sources', name, 'Ready'),
      (is) => is === wanted,
    );

async function reindexed(operator: OperatorFixture, gateway = 'agents'): Promise<Reindexed> {
  const answer = await operator.reindex(`default/${gateway}`);
  assert.ok(typeof answer === 'object', String(answer));
  return answer;
}

test('a commit is published when the answer comes, though nobody refreshes the source', async () => {
  await using operator = await OperatorFixture.start();
  const fixture = await GitFixture.create(join(root, 'pack.git'));
  const commit = await fixture.commitFiles({ 'skills/one/SKILL.md': skillText('one') });
  operator.cluster.source('pack', { spec: { url: git.sourceUrl('pack.git') } });
  operator.cluster.gateway('agents');
  await isAt(operator, 'pack')('True/Succeeded');
  const { generation: before } = await reindexed(operator);

  await fixture.commitFiles({ 'skills/one/SKILL.md': skillText('one', 'Do it better.') }, { parent: commit });
  const answer = await reindexed(operator);
  assert.deepEqual(answer, { rebuilt: ['pack'], unfinished: [], generation: before! + 1 });
  const index = await operator.index();
  assert.equal(index.generation, answer.generation);
  assert.equal((await operator.read('pack', 'one')).toString(), skillText('one', 'Do it better.'));
});

test('who asks while a look runs gets another one, that began after he asked; those who wait together share it', async () => {
  await using operator = await OperatorFixture.start(patient);
  const fixture = await GitFixture.create(join(root, 'busy.git'));
  const first = await fixture.commitFiles({ 'skills/one/SKILL.md': skillText('one') });
  operator.cluster.source('busy', { spec: { url: git.sourceUrl('busy.git') } });
  operator.cluster.gateway('agents');
  await isAt(operator, 'busy')('True/Succeeded');

  const held: (() => void)[] = [];
  git.tamper = (_request, answer, response) => void held.push(() => response.end(answer));
  const running = reindexed(operator);
  await eventually('the look has begun', () => held.length === 1);
  await fixture.commitFiles({ 'skills/one/SKILL.md': skillText('one', 'Second.') }, { parent: first });
  const waiting = [reindexed(operator), reindexed(operator), reindexed(operator)];
  git.tamper = undefined;
  git.exchanges.length = 0;
  for (const release of held) release();

  const answers = await Promise.all(waiting);
  assert.equal((await operator.read('busy', 'one')).toString(), skillText('one', 'Second.'));
  assert.equal(new Set(answers.map(({ generation }) => generation)).size, 1);
  assert.deepEqual((await running).rebuilt, ['busy']);
  const looks = git.exchanges.filter(({ path }) => path.includes('/info/refs')).length;
  assert.ok(looks <= 1, `${looks} looks for three who waited`);
});

test('a source that fails exactly as before is not among the rebuilt, one that fails anew is', async () => {
  await using operator = await OperatorFixture.start();
  const fixture = await GitFixture.create(join(root, 'good.git'));
  await fixture.commitFiles({ 'skills/one/SKILL.md': skillText('one') });
  operator.cluster.source('good', { spec: { url: git.sourceUrl('good.git') } });
  operator.cluster.source('gone', { spec: { url: git.sourceUrl('gone.git') } });
  operator.cluster.gateway('agents');
  await isAt(operator, 'good')('True/Succeeded');
  await isAt(operator, 'gone')('False/NotFound');
  assert.deepEqual((await reindexed(operator)).rebuilt, ['good']);
  operator.cluster.source('gone', { spec: { url: 'git+http://127.0.0.1:1/gone.git' } });
  await isAt(operator, 'gone')('False/Unreachable');
  operator.cluster.source('gone', { spec: { url: git.sourceUrl('gone.git') } });
  const { rebuilt } = await reindexed(operator);
  assert.deepEqual(rebuilt, ['gone', 'good']);
});

test('only what the gateway selects is looked at, and a suspended source is left alone', async () => {
  await using operator = await OperatorFixture.start();
  for (const name of ['mine', 'theirs', 'paused']) {
    operator.cluster.configMap(name, { 'skills__one__SKILL.md': skillText('one') });
    operator.cluster.source(name, { spec: { url: `configmap://${name}` } });
    await isAt(operator, name)('True/Succeeded');
  }
  operator.cluster.source('paused', { spec: { url: 'configmap://paused', suspend: true } });
  operator.cluster.gateway('agents', { spec: { sources: { names: ['mine', 'paused', 'missing'] } } });
  for (const name of ['mine', 'theirs', 'paused']) {
    operator.cluster.configMapData.set(name, { 'skills__one__SKILL.md': skillText('one', 'Second.') });
  }
  const { rebuilt, unfinished } = await reindexed(operator);
  assert.deepEqual({ rebuilt, unfinished }, { rebuilt: ['mine'], unfinished: [] });
  assert.equal((await operator.read('mine', 'one')).toString(), skillText('one', 'Second.'));
  assert.equal((await operator.read('paused', 'one')).toString(), skillText('one'));
});

test('a gateway that is not there or whose spec is wrong looks at nothing, and that is said', async () => {
  await using operator = await OperatorFixture.start();
  operator.cluster.gateway('wrong', { spec: { scope: { library: 'a b' } } });
  assert.equal(await operator.reindex('default/wrong'), 'InvalidSpec');
  assert.equal(await operator.reindex('default/missing'), 'NotFound');
  assert.equal(await operator.reindex('other/wrong'), 'NotFound');
});

test('an operator that stops lets nobody wait', async () => {
  await using operator = await OperatorFixture.start(patient);
  const fixture = await GitFixture.create(join(root, 'slow.git'));
  await fixture.commitFiles({ 'skills/one/SKILL.md': skillText('one') });
  operator.cluster.source('slow', { spec: { url: git.sourceUrl('slow.git') } });
  operator.cluster.gateway('agents');
  await isAt(operator, 'slow')('True/Succeeded');
  const held: (() => void)[] = [];
  git.tamper = (_request, answer, response) => void held.push(() => response.end(answer));
  const waiting = assert.rejects(Promise.resolve(operator.reindex('default/agents')));
  await eventually('the look has begun', () => held.length === 1);
  await operator.stop();
  await waiting;
  git.tamper = undefined;
  for (const release of held) release();
});
