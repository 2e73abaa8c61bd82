// The normal case: `helm install`, `kubectl apply`, a URL in the cluster, and what happens to it in its life.
import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { eventually } from '../fixtures/eventually.ts';
import { secret as davSecret, startWebDavServer } from '../fixtures/webdav-server.ts';
import { GitHost } from './git-host.ts';
import { type HelmLine, install, uninstall } from './helm.ts';
import {
  type Anything,
  apply,
  ClientPod,
  cluster,
  get,
  identities,
  node,
  nodeService,
  pods,
  removeEverything,
  restrictedNamespace,
  volumeFor,
  whatStands,
} from './pods.ts';
import { reportFailures } from './report.ts';

const repository = join(import.meta.dirname, '../..');
const examples = join(repository, 'examples/cluster');

const url = 'http://agents.lyceum.svc.cluster.local:8000/mcp';
const houseStyle = 'skill://house-rules/house-style';
const welcome = 'skill://handbook/welcome';
const refreshSeconds = 5;

const serverLabels = 'app.kubernetes.io/name=lyceum-gateway,app.kubernetes.io/instance=agents';
const operatorLabels = 'app.kubernetes.io/component=operator';

/** Without the last column, which is how old each is. */
const withoutAges = (text: string): string => text.replace(/ +\S+$/gm, '');

const ready = (...objects: string[]) =>
  cluster.kubectl(['wait', '-n', 'lyceum', ...objects, '--for=condition=Ready', '--timeout=60s']);

const gateway = (name = 'agents') => get('lyceum', 'skillgateway', name);
const condition = (object: Anything, type = 'Ready') =>
  object.status.conditions.find((one: Anything) => one.type === type);

for (const [line, name] of [
  ['helm4', 'Helm 4'],
  ['helm3', 'Helm 3'],
] as [HelmLine, string][]) {
  describe(`Lyceum installed with ${name}`, () => {
    reportFailures();
    let git: GitHost;
    let client: ClientPod;

    before(async () => {
      for (const namespace of ['lyceum', 'agents']) await restrictedNamespace(namespace);
      await volumeFor({ namespace: 'lyceum', name: 'lyceum' });
      git = await GitHost.start('agents');
      await git.push('welcome', 'Be welcome, said the first edition.');
    });

    after(async () => {
      await git[Symbol.asyncDispose]();
      await removeEverything();
    });

    it('stands in a namespace that admits no other pods than "restricted" ones', async () => {
      const { stderr } = await cluster.tryKubectl(['run', 'loose', '-n', 'lyceum', '--image=example.com/loose:1']);
      assert.match(stderr, /violates PodSecurity "restricted:latest"/);
    });

    it('installs with default values and says what to apply next', async () => {
      const notes = await install(line, 'lyceum');
      assert.match(notes, /kubectl apply --namespace lyceum/);
    });

    it('serves the examples after kubectl apply, and kubectl wait sees them Ready', async () => {
      await cluster.kubectl(['apply', '-n', 'lyceum', '-f', join(examples, 'skills.yaml')]);
      await ready('skillsource/house-rules', 'skillgateway/agents');
      assert.equal((await gateway()).status.url, url);
      assert.equal((await pods('lyceum', serverLabels)).length, 2);
      const table = await cluster.kubectl(['get', '-n', 'lyceum', 'skillsources,skillgateways']);
      const page = await readFile(join(repository, 'docs/install.md'), 'utf8');
      assert.ok(withoutAges(page).includes(withoutAges(table).trim()), `docs/install.md does not show this:\n${table}`);
    });

    it('serves a repository of a git server in the cluster', async () => {
      await apply({
        apiVersion: 'lyceum.dev/v1alpha1',
        kind: 'SkillSource',
        metadata: { namespace: 'lyceum', name: 'handbook' },
        spec: { url: git.url, refresh: `${refreshSeconds}s` },
      });
      await ready('skillsource/handbook');
    });

    it('answers clients in pods: one that knows only tools, and one of the current protocol', async () => {
      client = await ClientPod.start('agents');
      const tools = await client.tools(url, houseStyle);
      assert.deepEqual(tools.listed, ['skill://handbook', 'skill://house-rules']);
      assert.match(tools.read, /Short sentences\. One thought each\./);
      await client.until(url, welcome, 'the first edition');
      const resources = await client.resources(url, welcome);
      assert.equal(resources.version, '2026-07-28');
      assert.deepEqual(resources.listed, tools.listed);
      assert.match(resources.read, /Be welcome, said the first edition\./);
    });

    it('serves a pushed commit within the refresh and 2 s, by the same pods', async () => {
      const servers = identities(await pods('lyceum', serverLabels));
      const pushed = await git.push('welcome', 'Be welcome, says the second edition.');
      const seconds = ((await client.until(url, welcome, 'the second edition')) - pushed) / 1000;
      assert.ok(seconds <= refreshSeconds + 2, `${seconds} s`);
      assert.ok(git.commands.includes('fetch'));
      assert.deepEqual(identities(await pods('lyceum', serverLabels)), servers);
    });

    it('brings a deleted Deployment and a deleted Service back', async () => {
      for (const kind of ['deployment', 'service']) {
        const { uid } = (await get('lyceum', kind, 'agents')).metadata;
        await cluster.kubectl(['delete', '-n', 'lyceum', kind, 'agents', '--wait=false']);
        await eventually(
          `another ${kind}`,
          () => get('lyceum', kind, 'agents'),
          ({ metadata }) => metadata.uid !== uid && metadata.deletionTimestamp === undefined,
        );
      }
      await eventually('two pods are ready', gateway, ({ status }) => status.readyReplicas === 2, 60);
      await ready('skillgateway/agents');
      await client.until(url, houseStyle, 'Short sentences');
    });

    it('puts a Deployment right that somebody edited', async () => {
      const edits: [type: string, patch: object][] = [
        ['merge', { spec: { replicas: 5, template: { spec: { automountServiceAccountToken: true } } } }],
        [
          'strategic',
          { spec: { template: { spec: { containers: [{ name: 'server', image: 'example.com/other:1' }] } } } },
        ],
      ];
      for (const [type, patch] of edits) {
        const { spec } = await get('lyceum', 'deployment', 'agents');
        await cluster.kubectl([
          'patch',
          '-n',
          'lyceum',
          'deployment',
          'agents',
          '--type',
          type,
          '-p',
          JSON.stringify(patch),
        ]);
        await eventually(
          'as it was',
          () => get('lyceum', 'deployment', 'agents'),
          (deployment) => JSON.stringify(deployment.spec) === JSON.stringify(spec),
        );
      }
      await ready('skillgateway/agents');
    });

    it('does not touch a Deployment of the same name that is not its own, and says so', async () => {
      const labels = { app: 'theirs' };
      await apply({
        apiVersion: 'apps/v1',
        kind: 'Deployment',
        metadata: { namespace: 'lyceum', name: 'theirs' },
        spec: {
          replicas: 0,
          selector: { matchLabels: labels },
          template: { metadata: { labels }, spec: { containers: [{ name: 'theirs', image: 'example.com/theirs:1' }] } },
        },
      });
      const { metadata, spec } = await get('lyceum', 'deployment', 'theirs');
      await apply({
        apiVersion: 'lyceum.dev/v1alpha1',
        kind: 'SkillGateway',
        metadata: { namespace: 'lyceum', name: 'theirs' },
        spec: {},
      });
      const { reason, message } = await eventually(
        'the gateway says what stands in its way',
        async () => condition(await gateway('theirs')),
        ({ status }) => status === 'False',
      );
      assert.equal(reason, 'RolloutFailed');
      assert.match(message, /Deployment "?theirs"?/i);
      const after = await get('lyceum', 'deployment', 'theirs');
      assert.deepEqual(
        [after.metadata.uid, after.metadata.generation, after.metadata.labels, after.spec],
        [metadata.uid, metadata.generation, metadata.labels, spec],
      );
      await cluster.kubectl(['delete', '-n', 'lyceum', 'skillgateway/theirs', 'deployment/theirs']);
    });

    it('is read without a gap while the operator is replaced, which fetches nothing anew', async () => {
      const servers = identities(await pods('lyceum', serverLabels));
      const [operator] = await pods('lyceum', operatorLabels);
      git.commands.length = 0;
      const load = await client.load(url, welcome);
      await cluster.kubectl(['delete', 'pod', '-n', 'lyceum', operator.metadata.name]);
      await cluster.kubectl(['rollout', 'status', '-n', 'lyceum', 'deployment/lyceum', '--timeout=60s']);
      const asked = git.commands.length;
      await eventually('the new operator has looked twice', () => git.commands.length >= asked + 2, Boolean, 30);
      const { reads, failures } = await load.sum();
      assert.deepEqual(failures, []);
      assert.ok(reads > 100, `${reads} reads`);
      git.assertNothingFetched();
      assert.deepEqual(identities(await pods('lyceum', serverLabels)), servers);
      const pushed = await git.push('welcome', 'Be welcome, says the third edition.');
      const seconds = ((await client.until(url, welcome, 'the third edition')) - pushed) / 1000;
      assert.ok(seconds <= refreshSeconds + 2, `${seconds} s`);
    });

    it('replaces the pods for other resources without one failed request', async () => {
      const replaced = (await pods('lyceum', serverLabels)).map(({ metadata }) => metadata.uid);
      const load = await client.load(url, welcome);
      const resources = { requests: { cpu: '20m', memory: '96Mi' }, limits: { memory: '384Mi' } };
      const patch = JSON.stringify({ spec: { resources } });
      await cluster.kubectl(['patch', '-n', 'lyceum', 'skillgateway', 'agents', '--type', 'merge', '-p', patch]);
      await ready('skillgateway/agents');
      // They serve until they have ended, so the load goes on until then.
      await eventually(
        'the pods of before have ended',
        () => get('lyceum', 'pods', '-l', serverLabels),
        ({ items }) => !items.some((pod: Anything) => replaced.includes(pod.metadata.uid)),
        60,
      );
      const servers = await pods('lyceum', serverLabels);
      assert.equal(servers.length, 2);
      for (const { spec } of servers) assert.deepEqual(spec.containers[0].resources, resources);
      const { reads, failures } = await load.sum();
      assert.deepEqual(failures, []);
      assert.ok(reads > 100, `${reads} reads`);
    });

    it('reads an edit in a WebDAV folder back on the next read; its pods mount what that needs, and nothing else', async () => {
      const dav = await startWebDavServer('Apache with Digest', { host: node.address });
      try {
        const edition = (which: string) => ({
          'skills/minutes/SKILL.md': `---\nname: minutes\ndescription: Of minutes.\n---\nThe ${which} edition.\n`,
        });
        await dav.write(edition('first'));
        const host = await nodeService('agents', 'dav', dav.port);
        const metadata = { namespace: 'lyceum', name: 'notes' };
        await apply(
          { apiVersion: 'v1', kind: 'Secret', metadata, stringData: { ...davSecret, other: 'not for servers' } },
          {
            apiVersion: 'lyceum.dev/v1alpha1',
            kind: 'SkillSource',
            metadata,
            spec: { url: `webdav+http://${host}/dav`, cache: 'Live', secretRef: { name: 'notes' } },
          },
        );
        await ready('skillsource/notes');
        const mounted = ({ spec }: Anything) => spec.volumes.find((volume: Anything) => volume.name === 'live');
        await eventually(
          'the pods have what they need',
          () => pods('lyceum', serverLabels),
          (all) => all.length === 2 && all.every((pod) => mounted(pod) !== undefined),
          60,
        );
        await ready('skillgateway/agents');
        for (const pod of await pods('lyceum', serverLabels)) {
          const [{ secret }] = mounted(pod).projected.sources;
          const keys = secret.items.map(({ key }: Anything) => key);
          assert.deepEqual([secret.name, keys], ['notes', ['username', 'password', 'ca.crt']]);
        }
        const minutes = 'skill://notes/minutes';
        await client.until(url, minutes, 'The first edition');
        const read = Date.now();
        await dav.write(edition('second'), 0);
        await eventually('a look counts for two seconds', () => Date.now() - read > 2100);
        assert.match((await client.resources(url, minutes)).read, /The second edition/);
        await cluster.kubectl(['delete', '-n', 'lyceum', 'skillsource/notes', 'secret/notes']);
        await eventually(
          'the pods mount no Secret',
          () => pods('lyceum', serverLabels),
          (all) => all.length === 2 && all.every((pod) => mounted(pod) === undefined),
          60,
        );
        await ready('skillgateway/agents');
      } finally {
        await cluster.kubectl(['delete', '-n', 'agents', 'service/dav', 'endpointslice/dav', '--ignore-not-found']);
        await dav.close();
      }
    });

    it('looks at once when somebody with a token asks, though nobody refreshes the source', async () => {
      const patch = (kind: string, name: string, spec: object) =>
        cluster.kubectl([...['patch', '-n', 'lyceum', kind, name, '--type', 'merge', '-p'], JSON.stringify({ spec })]);
      assert.equal((await client.reindex(url)).status, 403);
      const token = 'reindex-0123456789abcdef';
      const secret = { namespace: 'lyceum', name: 'reindex-tokens' };
      await apply({ apiVersion: 'v1', kind: 'Secret', metadata: secret, stringData: { n8n: token } });
      await patch('skillgateway', 'agents', { auth: { tokens: { secretRef: { name: secret.name } } } });
      await client.until(url, houseStyle, 'Short sentences', token);
      await client.until(url, houseStyle, 'status 401');
      assert.equal((await client.reindex(url)).status, 401);

      await patch('skillsource', 'handbook', { refresh: null });
      assert.equal((await client.reindex(url, token)).status, 200);
      await git.push('welcome', 'Be welcome, says the third edition, as you asked for it.');
      const { status, rebuilt, seconds } = await client.reindex(url, token);
      assert.deepEqual({ status, rebuilt }, { status: 200, rebuilt: ['handbook', 'house-rules'] });
      assert.ok(seconds <= 5, `${seconds} s`);
      await client.until(url, welcome, 'as you asked for it', token);

      await patch('skillsource', 'handbook', { refresh: `${refreshSeconds}s` });
      await patch('skillgateway', 'agents', { auth: null });
      await client.until(url, houseStyle, 'Short sentences');
      await cluster.kubectl(['delete', '-n', 'lyceum', 'secret', secret.name]);
    });

    it('asks for tokens from when the gateway has some, and takes a rotated one within 35 s, by the same pods', async () => {
      const servers = identities(await pods('lyceum', serverLabels));
      const secretOf = (token: string) => ({
        apiVersion: 'v1',
        kind: 'Secret',
        metadata: { namespace: 'lyceum', name: 'agents-tokens' },
        stringData: { n8n: token },
      });
      const [first, second] = ['first-0123456789abcdef', 'second-0123456789abcdef'];
      const patch = (auth: object | null) =>
        cluster.kubectl([
          ...['patch', '-n', 'lyceum', 'skillgateway', 'agents', '--type', 'merge', '-p'],
          JSON.stringify({ spec: { auth } }),
        ]);
      await apply(secretOf(first));
      await patch({
        tokens: { secretRef: { name: 'agents-tokens' } },
        scopes: [{ token: 'n8n', library: 'house-rules' }],
      });
      await client.until(url, houseStyle, 'status 401');
      const { listed, read } = await client.tools(url, houseStyle, first);
      assert.deepEqual(listed, ['skill://house-rules']);
      assert.match(read, /Short sentences/);

      const rotated = Date.now();
      await apply(secretOf(second));
      const seconds = ((await client.until(url, houseStyle, 'Short sentences', second)) - rotated) / 1000;
      assert.ok(seconds <= 35, `${seconds} s`);
      await client.until(url, houseStyle, 'status 401', first);
      await ready('skillgateway/agents');

      await cluster.kubectl(['delete', '-n', 'lyceum', 'secret', 'agents-tokens']);
      await client.until(url, houseStyle, 'status 401', second);
      const { reason } = await eventually(
        'the gateway says that its Secret is gone',
        async () => condition(await gateway()),
        ({ status }) => status === 'False',
      );
      assert.equal(reason, 'SecretNotFound');
      await patch(null);
      await client.until(url, houseStyle, 'Short sentences');
      await ready('skillgateway/agents');
      assert.deepEqual(identities(await pods('lyceum', serverLabels)), servers);
    });

    it('shows how it all stands in kubectl get', async () => {
      const table = await cluster.kubectl(['get', '-n', 'lyceum', 'skillsources,skillgateways']);
      assert.match(table, /skillgateway\S*\/agents +http:\/\/agents\.lyceum\S+ +2 +2 +2 +True/);
    });

    it('leaves what users made when it is uninstalled, and the servers serve on', async () => {
      await uninstall(line, 'lyceum');
      assert.deepEqual(await whatStands('lyceum'), [
        'configmap/house-rules',
        'configmap/kube-root-ca.crt',
        'deployment.apps/agents',
        'persistentvolumeclaim/lyceum',
        'service/agents',
        'serviceaccount/default',
        'skillgateway.lyceum.dev/agents',
        'skillsource.lyceum.dev/handbook',
        'skillsource.lyceum.dev/house-rules',
      ]);
      assert.match((await client.resources(url, welcome)).read, /the third edition/);
    });

    it('takes everything up again when it is installed again, and fetches nothing anew', async () => {
      git.commands.length = 0;
      const load = await client.load(url, welcome);
      await install(line, 'lyceum');
      await eventually('the operator has looked', () => git.commands.length > 0, Boolean, 30);
      await ready('skillsource/house-rules', 'skillsource/handbook', 'skillgateway/agents');
      assert.deepEqual((await load.sum()).failures, []);
      git.assertNothingFetched();
    });

    it('is gone with everything that its users made', async () => {
      await cluster.kubectl(['delete', '-n', 'lyceum', 'skillsources,skillgateways', '--all', '--timeout=20s']);
      await eventually(
        'the pods go with their gateway',
        () => get('lyceum', 'deployments,services,pods', '-l', serverLabels),
        ({ items }) => items.length === 0,
        60,
      );
      await uninstall(line, 'lyceum');
      await cluster.kubectl(['delete', '-n', 'lyceum', 'persistentvolumeclaim', 'lyceum']);
      assert.deepEqual(await whatStands('lyceum'), [
        'configmap/house-rules',
        'configmap/kube-root-ca.crt',
        'serviceaccount/default',
      ]);
    });
  });
}
