// The rules that a user of a SkillSource can rely on, against a whole operator and a real git server.
import assert from 'node:assert/strict';
import { mkdtemp, readdir, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
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

let repositories = 0;

/** A repository of its own with these files, and its URL. */
async function repository(
  files: Record<string, string>,
): Promise<{ fixture: GitFixture; url: string; commit: string }> {
  const name = `pack-${++repositories}.git`;
  const fixture = await GitFixture.create(join(root, name));
  const commit = await fixture.commitFiles(files);
  return { fixture, url: git.sourceUrl(name), commit };
}

const two = { 'skills/one/SKILL.md': skillText('one'), 'skills/two/SKILL.md': skillText('two') };

const ready = (operator: OperatorFixture, source: string): Promise<unknown> =>
  eventually(
    `${source} Ready`,
    () => operator.cluster.condition('sources', source, 'Ready'),
    (is) => is === 'True/Succeeded',
  );

async function served(operator: OperatorFixture, source: string): Promise<string[]> {
  const catalogue = await operator.catalogue(source);
  return (catalogue?.artifacts ?? []).map(({ address }) => address).sort();
}

const serves = (operator: OperatorFixture, source: string, wanted: string[]): Promise<unknown> =>
  eventually(
    `${source} serves ${wanted.join(' and ')}`,
    () => served(operator, source),
    (list) => list.join() === wanted.join(),
  );

/** The gateway's own status follows its index.json. */
const gatewaySays = (operator: OperatorFixture, wanted: string): Promise<unknown> =>
  eventually(
    `the gateway says ${wanted}`,
    () => operator.cluster.condition('gateways', 'agents', 'SourcesReady'),
    (is) => is === wanted,
  );

/** Every file of the volume with what would move if it were written again. */
async function volumeFiles(folder: string): Promise<Record<string, string>> {
  const files: Record<string, string> = {};
  for (const entry of await readdir(folder, { withFileTypes: true, recursive: true })) {
    if (!entry.isFile()) continue;
    const path = join(entry.parentPath, entry.name);
    const { ino, mtimeMs, size } = await stat(path);
    files[path.slice(folder.length)] = `${ino} ${mtimeMs} ${size}`;
  }
  return files;
}

test('a source that is applied is fetched, harvested and served; a commit is served after the refresh', async () => {
  await using operator = await OperatorFixture.start();
  const { fixture, url, commit } = await repository(two);
  operator.cluster.gateway('agents');
  operator.cluster.source('pack', { spec: { url, refresh: '5s' } });
  await ready(operator, 'pack');
  await eventually(
    'both skills in the index',
    () => served(operator, 'pack'),
    (list) => list.length === 2,
  );
  assert.equal((await operator.read('pack', 'one')).toString(), skillText('one'));
  assert.equal(operator.cluster.status('sources', 'pack').revision, `main@sha1:${commit}`);

  await fixture.commitFiles({ ...two, 'skills/one/SKILL.md': skillText('one', 'Do it better.') }, { parent: commit });
  const text = skillText('one', 'Do it better.');
  await eventually(
    'the new bytes',
    async () => (await operator.read('pack', 'one')).toString(),
    (now) => now === text,
  );
});

test('upstream deletions are followed, the last skill too', async () => {
  await using operator = await OperatorFixture.start();
  const { fixture, url, commit } = await repository(two);
  const look = (requestedAt: string): void =>
    operator.cluster.source('pack', { spec: { url }, annotations: { 'lyceum.dev/requestedAt': requestedAt } });
  operator.cluster.gateway('agents');
  look('first');
  await ready(operator, 'pack');
  const next = await fixture.commitFiles({ 'skills/two/SKILL.md': skillText('two') }, { parent: commit });
  look('second');
  await eventually(
    'one is gone',
    () => served(operator, 'pack'),
    (list) => list.join() === 'two',
  );
  await fixture.commitFiles({ 'README.md': 'empty' }, { parent: next });
  look('third');
  await eventually(
    'two is gone as well',
    () => served(operator, 'pack'),
    (list) => list.length === 0,
  );
  assert.equal(operator.cluster.condition('sources', 'pack', 'Ready'), 'True/Succeeded');
});

test('nothing changed means nothing done: no content, no file, no status, no event', async () => {
  await using operator = await OperatorFixture.start();
  const { url } = await repository(two);
  operator.cluster.gateway('agents');
  operator.cluster.source('pack', { spec: { url, refresh: '5s' } });
  await ready(operator, 'pack');
  await eventually(
    'the index',
    () => served(operator, 'pack'),
    (list) => list.length === 2,
  );
  await gatewaySays(operator, 'True/AllReady');
  const [files, writes, events] = [
    await volumeFiles(operator.volume),
    operator.cluster.statusWrites,
    operator.cluster.events.length,
  ];
  git.exchanges.length = 0;
  await eventually(
    'another look',
    () => git.exchanges.length,
    (requests) => requests >= 2,
  );
  assert.ok(
    git.exchanges.every(({ bytesOut }) => bytesOut < 1024),
    'a look that finds the same revision transfers no content',
  );
  assert.deepEqual(await volumeFiles(operator.volume), files);
  assert.equal(operator.cluster.statusWrites, writes);
  assert.equal(operator.cluster.events.length, events);
});

test('restarts cost nothing: each source is probed once and only what moved is fetched', async () => {
  await using operator = await OperatorFixture.start();
  const [still, moving] = [await repository(two), await repository(two)];
  operator.cluster.gateway('agents');
  operator.cluster.source('still', { spec: { url: still.url } });
  operator.cluster.source('moving', { spec: { url: moving.url } });
  await Promise.all([ready(operator, 'still'), ready(operator, 'moving')]);
  await eventually(
    'both in the index',
    async () => (await operator.index()).sources.filter(({ catalogue }) => catalogue).length,
    (n) => n === 2,
  );
  const generation = (await operator.index()).generation;
  await operator.stop();
  await moving.fixture.commitFiles({ 'skills/three/SKILL.md': skillText('three') }, { parent: moving.commit });
  git.exchanges.length = 0;
  const writes = operator.cluster.statusWrites;
  await operator.start();
  await eventually(
    'what moved',
    () => served(operator, 'moving'),
    (list) => list.join() === 'three',
  );
  const of = (url: string) => git.exchanges.filter(({ path }) => path.includes(url.split('/').at(-1)!));
  await eventually(
    'a probe of the other',
    () => of(still.url).length,
    (requests) => requests === 2,
  );
  assert.ok(of(still.url).every(({ bytesOut }) => bytesOut < 1024));
  assert.equal((await operator.index()).generation, generation + 1);
  assert.ok(operator.cluster.statusWrites - writes <= 2, 'the source that did not move has its status untouched');
});

test('an annotation asks for a look now, and the status says which request was handled', async () => {
  await using operator = await OperatorFixture.start();
  const { fixture, url, commit } = await repository(two);
  operator.cluster.gateway('agents');
  operator.cluster.source('pack', { spec: { url } });
  await ready(operator, 'pack');
  await fixture.commitFiles({ 'skills/two/SKILL.md': skillText('two') }, { parent: commit });
  operator.cluster.source('pack', { spec: { url }, annotations: { 'lyceum.dev/requestedAt': 'noon' } });
  await eventually(
    'the change',
    () => served(operator, 'pack'),
    (list) => list.join() === 'two',
  );
  await eventually(
    'the request',
    () => operator.cluster.status('sources', 'pack').lastHandledReconcileAt,
    (at) => at === 'noon',
  );
});

test('a new spec is fetched at once, and last good stays while the new one fails', async () => {
  await using operator = await OperatorFixture.start();
  const { url, commit } = await repository(two);
  operator.cluster.gateway('agents');
  operator.cluster.source('pack', { spec: { url } });
  await ready(operator, 'pack');
  operator.cluster.source('pack', { spec: { url, ref: 'nowhere' } });
  await eventually(
    'NotFound',
    () => operator.cluster.condition('sources', 'pack', 'Ready'),
    (is) => is === 'False/NotFound',
  );
  await serves(operator, 'pack', ['one', 'two']);
  assert.equal(operator.cluster.status('sources', 'pack').revision, `main@sha1:${commit}`);
  await eventually(
    'stale',
    async () => (await operator.index()).sources[0]?.state,
    (state) => state === 'stale',
  );
  operator.cluster.source('pack', { spec: { url, include: { skills: ['skills/one'] } } });
  await eventually(
    'the narrower pack',
    () => served(operator, 'pack'),
    (list) => list.join() === 'one',
  );
  await ready(operator, 'pack');
  await eventually(
    'ok',
    async () => (await operator.index()).sources[0]?.state,
    (state) => state === 'ok',
  );
});

test('a wrong spec stalls, is never retried, and leaves last good in place', async () => {
  await using operator = await OperatorFixture.start();
  const { url } = await repository(two);
  operator.cluster.gateway('agents');
  operator.cluster.source('pack', { spec: { url } });
  await ready(operator, 'pack');
  await eventually(
    'the index',
    () => served(operator, 'pack'),
    (list) => list.length === 2,
  );
  git.exchanges.length = 0;
  operator.cluster.source('pack', { spec: { url: 'ftp://example.com/x', refresh: '5s' } });
  await eventually(
    'Stalled',
    () => operator.cluster.condition('sources', 'pack', 'Stalled'),
    (is) => is === 'True/InvalidSpec',
  );
  assert.equal(operator.cluster.condition('sources', 'pack', 'Ready'), 'False/InvalidSpec');
  await eventually(
    'stale',
    async () => (await operator.index()).sources[0]?.state,
    (state) => state === 'stale',
  );
  await serves(operator, 'pack', ['one', 'two']);
  assert.equal(git.exchanges.length, 0);
});

test('suspend: no looks, Ready as it was, still served', async () => {
  await using operator = await OperatorFixture.start();
  const { url } = await repository(two);
  operator.cluster.gateway('agents');
  operator.cluster.source('pack', { spec: { url } });
  await ready(operator, 'pack');
  git.exchanges.length = 0;
  operator.cluster.source('pack', { spec: { url, suspend: true }, annotations: { 'lyceum.dev/requestedAt': 'noon' } });
  await eventually('Suspended', () => operator.cluster.condition('sources', 'pack', 'Suspended'));
  assert.equal(operator.cluster.condition('sources', 'pack', 'Ready'), 'True/Succeeded');
  await serves(operator, 'pack', ['one', 'two']);
  assert.equal(git.exchanges.length, 0);
});

test('a deleted SkillSource takes its content with it, the last one too', async () => {
  await using operator = await OperatorFixture.start();
  const [first, second] = [await repository(two), await repository(two)];
  operator.cluster.gateway('agents');
  operator.cluster.source('first', { spec: { url: first.url } });
  operator.cluster.source('second', { spec: { url: second.url } });
  await Promise.all([ready(operator, 'first'), ready(operator, 'second')]);
  operator.cluster.deleteSource('first');
  await eventually(
    'first gone',
    async () => (await operator.index()).sources.map(({ name }) => name),
    (all) => all.join() === 'second',
  );
  operator.cluster.deleteSource('second');
  await eventually(
    'second gone',
    async () => (await operator.index()).sources.length,
    (number) => number === 0,
  );
  assert.doesNotMatch(await operator.metrics(), /lyceum_source_ready\{[^}]*name="first"/);
});

test('a source that comes back under its name starts anew and never shows what the old one had', async () => {
  await using operator = await OperatorFixture.start();
  const [old, fresh] = [await repository(two), await repository({ 'skills/new/SKILL.md': skillText('new') })];
  operator.cluster.gateway('agents');
  operator.cluster.source('pack', { spec: { url: old.url } });
  await ready(operator, 'pack');
  operator.cluster.deleteSource('pack');
  operator.cluster.source('pack', { spec: { url: fresh.url, ref: 'nowhere' } });
  await eventually(
    'NotFound',
    () => operator.cluster.condition('sources', 'pack', 'Ready'),
    (is) => is === 'False/NotFound',
  );
  await eventually(
    'nothing of the old one',
    () => served(operator, 'pack'),
    (list) => list.length === 0,
  );
  operator.cluster.source('pack', { spec: { url: fresh.url } });
  await eventually(
    'the new pack',
    () => served(operator, 'pack'),
    (list) => list.join() === 'new',
  );
});

test('one Warning when a source turns bad, one Normal when content changes, none on repetition', async () => {
  await using operator = await OperatorFixture.start();
  const { fixture, url, commit } = await repository(two);
  const events = (reason: string) => operator.cluster.events.filter((event) => event.reason === reason);
  operator.cluster.source('pack', { spec: { url, refresh: '5s' } });
  await ready(operator, 'pack');
  assert.equal(events('ContentChanged').length, 1);
  assert.equal(events('ContentChanged')[0]?.type, 'Normal');
  await fixture.reference('refs/heads/main', '1'.repeat(40));
  git.exchanges.length = 0;
  await eventually(
    'a fault',
    () => operator.cluster.condition('sources', 'pack', 'Ready'),
    (is) => is?.startsWith('False/') === true,
  );
  await eventually(
    'several failed looks',
    () => git.exchanges.length,
    (requests) => requests >= 6,
  );
  assert.equal(operator.cluster.events.filter(({ type }) => type === 'Warning').length, 1);
  await fixture.reference('refs/heads/main', commit);
  await ready(operator, 'pack');
  assert.equal(events('ContentChanged').length, 1, 'the same content again is no change');
});

test('a broken SKILL.md is named in the status with path, line and reason, and told once as a Warning', async () => {
  await using operator = await OperatorFixture.start();
  const { url } = await repository({
    ...two,
    'skills/broken/SKILL.md': '---\nname: broken\ndescription: Use when: it breaks\n---\nx\n',
    'skills/empty/SKILL.md': '',
  });
  operator.cluster.source('pack', { spec: { url } });
  await ready(operator, 'pack');
  const { problems, counts } = operator.cluster.status('sources', 'pack');
  const lenient = problems.find(({ reason }: { reason: string }) => reason === 'LenientYaml');
  assert.equal(lenient.path, 'skills/broken/SKILL.md');
  assert.equal(lenient.line, 3);
  const empty = problems.find(({ reason }: { reason: string }) => reason === 'Empty');
  assert.equal(empty.path, 'skills/empty/SKILL.md');
  assert.equal(empty.severity, 'error');
  assert.deepEqual(
    { skills: counts.skills, discovered: counts.discovered, duplicates: counts.duplicates, rejected: counts.rejected },
    { skills: 3, discovered: 4, duplicates: 0, rejected: 1 },
  );
  const rejected = operator.cluster.events.filter(({ reason }) => reason === 'FilesRejected');
  assert.equal(rejected.length, 1);
  assert.equal(rejected[0]?.type, 'Warning');
});

test('a changed ConfigMap is noticed at once', async () => {
  await using operator = await OperatorFixture.start();
  operator.cluster.gateway('agents');
  operator.cluster.source('rules', { spec: { url: 'configmap://rules' } });
  await eventually(
    'NotFound',
    () => operator.cluster.condition('sources', 'rules', 'Ready'),
    (is) => is === 'False/NotFound',
  );
  operator.cluster.configMap('rules', { 'skills__style__SKILL.md': skillText('style') });
  await eventually(
    'the skill',
    () => served(operator, 'rules'),
    (list) => list.join() === 'style',
    3,
  );
  operator.cluster.configMap('rules', { 'skills__tone__SKILL.md': skillText('tone') });
  await eventually(
    'the changed skill',
    () => served(operator, 'rules'),
    (list) => list.join() === 'tone',
    3,
  );
});

test('two sources with one skill name: both are reachable, and the gateway says which one moved', async () => {
  await using operator = await OperatorFixture.start();
  const [old, young] = [await repository(two), await repository({ 'skills/one/SKILL.md': skillText('one', 'Other.') })];
  operator.cluster.gateway('agents');
  operator.cluster.source('young', { spec: { url: young.url, library: 'pack' }, created: '2026-02-01T00:00:00Z' });
  operator.cluster.source('old', { spec: { url: old.url, library: 'pack' }, created: '2026-01-01T00:00:00Z' });
  await Promise.all([ready(operator, 'old'), ready(operator, 'young')]);
  const { conflicts } = await eventually(
    'a conflict',
    () => operator.cluster.status('gateways', 'agents'),
    (status) => status?.conflicts?.length === 1,
  );
  assert.deepEqual(conflicts, [{ address: 'pack/one', source: 'young', movedTo: 'pack/young--skills-one/one' }]);
  const { sources } = await operator.index();
  assert.deepEqual(sources.find(({ name }) => name === 'old')?.moves, []);
});

test('a gateway exists on the volume as soon as it is applied, and says which sources are missing', async () => {
  await using operator = await OperatorFixture.start();
  operator.cluster.gateway('agents', { spec: { sources: { names: ['nobody'] } } });
  await eventually(
    'Ready',
    () => operator.cluster.condition('gateways', 'agents', 'Ready'),
    (is) => is === 'True/Succeeded',
  );
  assert.equal(operator.cluster.condition('gateways', 'agents', 'SourcesReady'), 'False/SourcesMissing');
  assert.deepEqual((await operator.index()).sources, []);
});

test('what fails the same way again changes nothing: no file, no generation, no status, no event', async () => {
  await using operator = await OperatorFixture.start();
  const { fixture, url, commit } = await repository(two);
  operator.cluster.gateway('agents');
  operator.cluster.source('pack', { spec: { url, refresh: '5s' } });
  await ready(operator, 'pack');
  await fixture.reference('refs/heads/main', '1'.repeat(40));
  const state = async () => (await operator.index()).sources[0]?.state;
  await eventually('stale', state, (now) => now === 'stale');
  await gatewaySays(operator, 'False/SourcesStale');
  const { generation } = await operator.index();
  const seen = async () => [await volumeFiles(operator.volume), operator.cluster.statusWrites, operator.cluster.events];
  const before = structuredClone(await seen());
  git.exchanges.length = 0;
  await eventually('it failed twice more', () => git.exchanges.length >= 4);
  assert.deepEqual(await seen(), before);
  assert.equal((await operator.index()).generation, generation);
  await serves(operator, 'pack', ['one', 'two']);
  await fixture.reference('refs/heads/main', commit);
});

test('an operator that starts while upstream is away serves the last good of before, and says that it is stale', async () => {
  await using operator = await OperatorFixture.start();
  const { fixture, url, commit } = await repository(two);
  const steady = await repository({ 'skills/three/SKILL.md': skillText('three') });
  operator.cluster.gateway('agents');
  operator.cluster.source('pack', { spec: { url, refresh: '5s' } });
  operator.cluster.source('steady', { spec: { url: steady.url } });
  await Promise.all([ready(operator, 'pack'), ready(operator, 'steady')]);
  await fixture.reference('refs/heads/main', '1'.repeat(40));
  const stateOf = async (source: string) => (await operator.index()).sources.find(({ name }) => name === source)?.state;
  await eventually('stale', async () => (await stateOf('pack')) === 'stale');
  await operator.stop();
  git.exchanges.length = 0;
  await operator.start();
  await eventually('it was asked again', () => git.exchanges.some(({ path }) => path.includes(url.split('/').at(-1)!)));
  assert.equal(await stateOf('pack'), 'stale');
  assert.equal(await stateOf('steady'), 'ok');
  await serves(operator, 'pack', ['one', 'two']);
  await fixture.reference('refs/heads/main', commit);
  await ready(operator, 'pack');
  await eventually('ok again', async () => (await stateOf('pack')) === 'ok');
});

test('a commit by its full name is fetched once, and nobody is asked again whether it moved', async () => {
  await using operator = await OperatorFixture.start();
  const [pinned, branch] = [await repository(two), await repository(two)];
  operator.cluster.gateway('agents');
  operator.cluster.source('pinned', { spec: { url: pinned.url, ref: pinned.commit.toUpperCase(), refresh: '5s' } });
  operator.cluster.source('branch', { spec: { url: branch.url, refresh: '5s' } });
  await Promise.all([ready(operator, 'pinned'), ready(operator, 'branch')]);
  assert.equal(operator.cluster.status('sources', 'pinned').revision, `sha1:${pinned.commit}`);
  await operator.stop();
  git.exchanges.length = 0;
  await operator.start();
  const of = (url: string) => git.exchanges.filter(({ path }) => path.includes(url.split('/').at(-1)!)).length;
  await eventually('the branch was looked at twice', () => of(branch.url) >= 4);
  assert.equal(of(pinned.url), 0);
  assert.equal(operator.cluster.condition('sources', 'pinned', 'Ready'), 'True/Succeeded');
  await serves(operator, 'pinned', ['one', 'two']);
});

test('a source without anything good is pending until its first look ends, failed after it, and holds up no other', async () => {
  await using operator = await OperatorFixture.start();
  const [good, silent] = [await repository(two), await repository(two)];
  const stateOf = async (source: string) => {
    const { state, reason, catalogue } = (await operator.index()).sources.find(({ name }) => name === source)!;
    return [state, reason, catalogue === undefined];
  };
  operator.cluster.gateway('agents');
  git.behaviour = (request) => request.url!.includes(silent.url.split('/').at(-1)!);
  try {
    operator.cluster.source('silent', { spec: { url: silent.url, refresh: '5s' } });
    operator.cluster.source('gone', { spec: { url: git.sourceUrl('gone.git') } });
    operator.cluster.source('good', { spec: { url: good.url } });
    const is = (source: string, wanted: unknown[]) =>
      eventually(
        `${source} is ${wanted[0]}`,
        () => stateOf(source),
        (found) => found.join() === wanted.join(),
      );
    await is('silent', ['pending', undefined, true]);
    await is('gone', ['failed', 'NotFound', true]);
    await is('silent', ['failed', 'TimedOut', true]);
    await is('good', ['ok', undefined, false]);
    git.behaviour = undefined;
    await is('silent', ['ok', undefined, false]);
  } finally {
    git.behaviour = undefined;
  }
});
