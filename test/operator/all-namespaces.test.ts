// An operator for the whole cluster, under the ClusterRole that the chart gives it: a process of its own, a real API server of its own.
import assert from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { helms, objects } from '../chart/helm.ts';
import { type ApiServer, ownApiServer } from '../cluster/api-server.ts';
import { eventually } from '../fixtures/eventually.ts';
import { GitFixture } from '../fixtures/git-repository.ts';
import { type GitServer, startGitServer } from '../fixtures/git-server.ts';
import { LyceumProcess } from '../fixtures/lyceum-process.ts';
import { skillText } from '../fixtures/operator.ts';

const release = 'lyceum-system';
const rights = ['ServiceAccount', 'ClusterRole', 'ClusterRoleBinding', 'Role', 'RoleBinding'];

describe('An operator for all namespaces', () => {
  let api: ApiServer & AsyncDisposable;
  let folder: string;
  let git: GitServer;
  let operator: LyceumProcess;

  const apply = (namespace: string, manifest: object): Promise<string> =>
    api.kubectl(['apply', '-n', namespace, '-f', '-'], JSON.stringify(manifest));
  const source = (namespace: string, name: string, spec: object): Promise<string> =>
    apply(namespace, { apiVersion: 'lyceum.dev/v1alpha1', kind: 'SkillSource', metadata: { name }, spec });
  const condition = async (namespace: string, kind: string, name: string): Promise<string | undefined> => {
    const { status } = JSON.parse(await api.kubectl(['get', kind, name, '-n', namespace, '-o', 'json']));
    const ready = status?.conditions?.find(({ type }: { type: string }) => type === 'Ready');
    return ready && `${ready.status}/${ready.reason}`;
  };
  const becomes = (namespace: string, kind: string, name: string, wanted: string): Promise<unknown> =>
    eventually(
      `${kind} ${namespace}/${name} is ${wanted}`,
      () => condition(namespace, kind, name),
      (now) => now === wanted,
    );

  before(async () => {
    folder = await mkdtemp(join(tmpdir(), 'lyceum-all-'));
    [api, git] = await Promise.all([
      ownApiServer(),
      startGitServer({ root: folder, authorization: `Basic ${btoa('reader:of-team-a')}` }),
    ]);
    await (await GitFixture.create(join(folder, 'pack.git'))).commitFiles({ 'skills/one/SKILL.md': skillText('one') });
    for (const namespace of [release, 'team-a']) await api.kubectl(['create', 'namespace', namespace]);
    const [helm] = await helms();
    const all = await objects(helm!, { namespace: release, values: { clusterWide: true } });
    for (const object of all)
      if (rights.includes(object.kind)) await api.kubectl(['apply', '-f', '-'], JSON.stringify(object));
    const { kubeconfig } = await api.accountOf(release, 'lyceum');
    operator = new LyceumProcess([
      ...['operator', '--all-namespaces', '--kubeconfig', kubeconfig, '--volume', join(folder, 'volume')],
      ...['--probes-port', '0', '--metrics-port', '0', '--allow-loopback', '--lease', 'lyceum'],
      ...['--volume-claim', 'lyceum', '--gateway-image', 'lyceum:test'],
    ]);
    await apply('team-a', {
      apiVersion: 'v1',
      kind: 'ConfigMap',
      metadata: { name: 'rules' },
      data: { 'SKILL.md': skillText('rules') },
    });
    await source('team-a', 'rules', { url: 'configmap://rules' });
  });

  after(async () => {
    await operator?.[Symbol.asyncDispose]();
    await git?.close();
    await api?.[Symbol.asyncDispose]();
    await rm(folder, { recursive: true, force: true });
  });

  it('serves a namespace that was there', async () => {
    await becomes('team-a', 'skillsource', 'rules', 'True/Succeeded');
  });

  it('serves a namespace that is made later, and sees what changes in it', async () => {
    await api.kubectl(['create', 'namespace', 'team-b']);
    await source('team-b', 'rules', { url: 'configmap://rules' });
    await becomes('team-b', 'skillsource', 'rules', 'False/NotFound');
    await apply('team-b', {
      apiVersion: 'v1',
      kind: 'ConfigMap',
      metadata: { name: 'rules' },
      data: { 'SKILL.md': skillText('rules') },
    });
    await becomes('team-b', 'skillsource', 'rules', 'True/Succeeded');
  });

  it('takes no Secret of another namespace', async () => {
    const stringData = { username: 'reader', password: 'of-team-a' };
    await apply('team-a', { apiVersion: 'v1', kind: 'Secret', metadata: { name: 'git' }, stringData });
    const spec = { url: git.sourceUrl('pack.git'), secretRef: { name: 'git' } };
    await source('team-a', 'pack', spec);
    await becomes('team-a', 'skillsource', 'pack', 'True/Succeeded');
    await source('team-b', 'pack', spec);
    await becomes('team-b', 'skillsource', 'pack', 'False/SecretNotFound');
    for (const name of ['team-a/git', '../team-a/secrets/git']) {
      const { code } = await api.tryKubectl(
        ['apply', '-n', 'team-b', '-f', '-'],
        JSON.stringify({
          apiVersion: 'lyceum.dev/v1alpha1',
          kind: 'SkillSource',
          metadata: { name: 'sly' },
          spec: { ...spec, secretRef: { name } },
        }),
      );
      assert.notEqual(code, 0, name);
    }
  });

  it('starts servers where the volume is, and says elsewhere why not', async () => {
    for (const namespace of [release, 'team-a']) {
      await apply(namespace, {
        apiVersion: 'lyceum.dev/v1alpha1',
        kind: 'SkillGateway',
        metadata: { name: 'agents' },
        spec: {},
      });
    }
    await becomes('team-a', 'skillgateway', 'agents', 'False/VolumeNotReachable');
    await eventually('a Deployment', () => api.kubectl(['get', 'deployment', 'agents', '-n', release]));
  });

  it('is refused nothing', () => {
    assert.deepEqual(
      operator.log.filter((line) => JSON.stringify(line).includes('the API server answered 403')),
      [],
    );
  });

  it('does not start with names of namespaces as well', async () => {
    await using both = new LyceumProcess([
      'operator',
      '--volume',
      folder,
      '--all-namespaces',
      '--namespaces',
      'team-a',
    ]);
    assert.equal(await both.ended(), 1);
    assert.match(both.said, /'--all-namespaces' cannot be used with option '--namespaces/);
  });
});
