// Sources on git servers with and without partial clone: the same is served, and how it is read is told.
import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { cp, mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { eventually } from '../fixtures/eventually.ts';
import { GitFixture, git } from '../fixtures/git-repository.ts';
import { startGitServer } from '../fixtures/git-server.ts';
import { OperatorFixture, skillText } from '../fixtures/operator.ts';
import { startSshServer } from '../fixtures/ssh-server.ts';

const files = {
  'README.md': '# Pack\r\n',
  'skills/style/SKILL.md': skillText('style'),
  'skills/style/logo.bin': randomBytes(70_000),
  'skills/tone/SKILL.md': { link: '../../shared/tone.md' },
  'skills/voice/SKILL.md': 'no frontmatter',
  'skills/huge/SKILL.md': skillText('huge'),
  'skills/huge/film.bin': Buffer.alloc(5 * 2 ** 20),
  'shared/tone.md': skillText('tone'),
  module: { submodule: '1'.repeat(40) },
};

const ready = (operator: OperatorFixture): Promise<unknown> =>
  eventually(
    'Ready',
    () => operator.cluster.condition('sources', 'pack', 'Ready'),
    (is) => is === 'True/Succeeded',
  );

const readers = async (operator: OperatorFixture) =>
  (await operator.metrics()).split('\n').filter((line) => line.startsWith('lyceum_source_git_reader{'));

const series = (reader: string) => `lyceum_source_git_reader{namespace="default",name="pack",reader="${reader}"} 1`;

const told = ({ log }: OperatorFixture) =>
  log
    .split('\n')
    .filter((line) => line.includes('partial clone'))
    .map((line) => JSON.parse(line) as { source: string; reader: string })
    .map(({ source, reader }) => [source, reader]);

test('the same repository gives the same catalogue, however its server has to be read', async () => {
  const root = await mkdtemp(join(tmpdir(), 'lyceum-readers-'));
  const repo = await GitFixture.create(join(root, 'pack.git'));
  await repo.commitFiles(files);
  await repo.repack();
  await cp(repo.folder, join(root, 'unfiltered', 'pack.git'), { recursive: true });
  await git(['config', 'uploadpack.allowFilter', 'false'], join(root, 'unfiltered', 'pack.git'));
  const servers = [
    await startGitServer({ root }),
    await startGitServer({ root: join(root, 'unfiltered') }),
    await startGitServer({ root, versionZero: true }),
  ];
  try {
    const served: unknown[] = [];
    for (const [index, server] of servers.entries()) {
      await using operator = await OperatorFixture.start();
      operator.cluster.source('pack', { spec: { url: server.sourceUrl('pack.git') } });
      operator.cluster.gateway('agents');
      await ready(operator);
      assert.deepEqual(await readers(operator), [series(index === 0 ? 'partial-clone' : 'isomorphic-git')]);
      assert.deepEqual(told(operator), index === 0 ? [] : [['default/pack', 'isomorphic-git']]);
      const { revision, artifact, counts, problems } = operator.cluster.status('sources', 'pack');
      served.push({ revision, digest: artifact.digest, counts, problems });
      await eventually(
        'nothing left in tmp',
        () => readdir(join(operator.volume, 'tmp')),
        ({ length }) => length === 0,
      );
    }
    assert.deepEqual(served[1], served[0]);
    assert.deepEqual(served[2], served[0]);
    const [{ counts, problems }] = served as [{ counts: Record<string, number>; problems: { reason: string }[] }];
    assert.equal(counts.skills, 4);
    assert.deepEqual(new Set(problems.map(({ reason }) => reason)).has('TooLarge'), true);
  } finally {
    for (const server of servers) await server.close();
    await rm(root, { recursive: true, force: true });
  }
});

test('a server that changes how it has to be read is told of once, and a source that is no longer git has no reader', async () => {
  const root = await mkdtemp(join(tmpdir(), 'lyceum-readers-'));
  const repo = await GitFixture.create(join(root, 'pack.git'), { partialClone: false });
  await repo.commitFiles(files);
  const server = await startGitServer({ root });
  try {
    await using operator = await OperatorFixture.start();
    const { cluster } = operator;
    let asked = 0;
    const lookAgain = async () => {
      const annotations = { 'lyceum.dev/requestedAt': `${++asked}` };
      cluster.source('pack', { spec: { url: server.sourceUrl('pack.git') }, annotations });
      await eventually(
        'another look',
        () => cluster.status('sources', 'pack')?.lastHandledReconcileAt,
        (at) => at === `${asked}`,
      );
    };
    await lookAgain();
    await lookAgain();
    assert.deepEqual(await readers(operator), [series('isomorphic-git')]);
    await git(['config', 'uploadpack.allowFilter', 'true'], repo.folder);
    await lookAgain();
    await lookAgain();
    assert.deepEqual(await readers(operator), [series('partial-clone')]);
    assert.deepEqual(told(operator), [
      ['default/pack', 'isomorphic-git'],
      ['default/pack', 'partial-clone'],
    ]);
    cluster.configMap('rules', { 'skills__style__SKILL.md': skillText('style') });
    cluster.source('pack', { spec: { url: 'configmap://rules' } });
    await eventually(
      'no reader',
      () => readers(operator),
      ({ length }) => length === 0,
    );
  } finally {
    await server.close();
    await rm(root, { recursive: true, force: true });
  }
});

test('a source over SSH whose host shows another key is TLSFailed and stays served, until known_hosts is mended', async () => {
  const root = await mkdtemp(join(tmpdir(), 'lyceum-readers-'));
  const repo = await GitFixture.create(join(root, 'pack.git'));
  await repo.commitFiles(files);
  const [server, other] = await Promise.all([startSshServer(), startSshServer()]);
  try {
    await using operator = await OperatorFixture.start();
    const { cluster } = operator;
    const spec = { url: server.sourceUrl(repo.folder), secretRef: { name: 'deploy-key' }, refresh: '5s' };
    cluster.secrets.set('deploy-key', server.secret);
    cluster.source('pack', { spec });
    cluster.gateway('agents');
    await ready(operator);
    assert.deepEqual(await readers(operator), [series('partial-clone')]);
    const wrong = other.secret.known_hosts.replace(`:${other.port}`, `:${server.port}`);
    cluster.secrets.set('deploy-key', { ...server.secret, known_hosts: wrong });
    const isReady = (wanted: string) =>
      eventually(
        wanted,
        () => cluster.condition('sources', 'pack', 'Ready'),
        (is) => is === wanted,
        60,
      );
    await isReady('False/TLSFailed');
    assert.match(cluster.status('sources', 'pack').conditions[0].message, /another host key.*known_hosts/);
    assert.notEqual(await operator.catalogue('pack'), undefined);
    cluster.secrets.set('deploy-key', server.secret);
    await isReady('True/Succeeded');
  } finally {
    await Promise.all([server.close(), other.close()]);
    await rm(root, { recursive: true, force: true });
  }
});
