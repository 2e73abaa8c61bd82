// Gateways that are reached by an HTTPRoute, on a real API server that has the Gateway API's definitions at some times only.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { pino } from 'pino';
import { type Connected, connect } from '../../cli/operator/connect.ts';
import { type RunningOperator, startOperator } from '../../operator/operator.ts';
import { type OwnApiServer, ownApiServer } from '../cluster/api-server.ts';
import { eventually } from '../fixtures/eventually.ts';

const log = pino({ level: 'silent' });
const example = join(import.meta.dirname, '../../examples/cluster/http-route.yaml');
const auth = { tokens: { secretRef: { name: 'agents-tokens' } } };
const outside = {
  auth,
  httpRoute: {
    parentRefs: [{ name: 'public', namespace: 'infra', sectionName: 'https' }],
    hostnames: ['skills.example.com'],
  },
};
const missing =
  "The API server has no HTTPRoutes (gateway.networking.k8s.io/v1): install the Gateway API's CustomResourceDefinitions, or remove spec.httpRoute";

describe('A gateway that asks for an HTTPRoute', () => {
  let api: OwnApiServer;
  let definition: string;
  let folder: string;
  let namespace: string;
  let kubeconfig: string;
  let connected: Connected;
  let operator: RunningOperator;

  const kubectl = (...args: string[]): Promise<string> => api.kubectl(['-n', namespace, ...args]);
  const apply = (name: string, spec: object): Promise<string> =>
    api.kubectl(
      ['-n', namespace, 'apply', '-f', '-'],
      JSON.stringify({ apiVersion: 'lyceum.dev/v1alpha1', kind: 'SkillGateway', metadata: { name }, spec }),
    );
  // biome-ignore lint/suspicious/noExplicitAny: an object is looked at by any path
  const get = async (kind: string, name: string): Promise<any> => {
    const { code, stdout } = await api.tryKubectl(['-n', namespace, 'get', kind, name, '-o', 'json']);
    return code === 0 ? JSON.parse(stdout) : undefined;
  };
  const route = (name: string) => get('httproute.gateway.networking.k8s.io', name);
  const ready = async (name: string): Promise<{ reason?: string; message?: string }> => {
    const conditions: { type: string; reason: string; message: string }[] =
      (await get('skillgateway', name))?.status?.conditions ?? [];
    return conditions.find(({ type }) => type === 'Ready') ?? {};
  };
  const events = async (name: string): Promise<string[]> => {
    const { items } = JSON.parse(await kubectl('get', 'events.events.k8s.io', '-o', 'json'));
    return items
      .filter(
        ({ regarding }: { regarding: { kind: string; name: string } }) =>
          regarding.kind === 'SkillGateway' && regarding.name === name,
      )
      .map(({ type, reason }: { type: string; reason: string }) => `${type} ${reason}`);
  };
  const says = (name: string, pattern: RegExp): Promise<unknown> =>
    eventually(
      `${name} says ${pattern}`,
      () => ready(name),
      ({ message = '' }) => pattern.test(message),
    );
  const isDefined = async (): Promise<void> => {
    await api.kubectl(['apply', '--server-side', '-f', definition]);
    await api.kubectl(['wait', '--for=condition=Established', '--timeout=30s', '-f', definition]);
    // Discovery of kubectl is behind for a while.
    await eventually('the API server serves it', async () => {
      const path = `/apis/gateway.networking.k8s.io/v1/namespaces/${namespace}/httproutes`;
      return (await api.tryKubectl(['get', '--raw', path])).code === 0;
    });
    await rm(join(api.folder, 'kubectl'), { recursive: true, force: true });
  };
  let touches = 0;
  /** Has the gateway reconciled, and waits until it has been. */
  const touch = async (name: string): Promise<void> => {
    await kubectl('annotate', 'skillgateway', name, `touched=${++touches}`, '--overwrite');
    await operator.reindex(`${namespace}/${name}`);
  };

  const start = async (): Promise<void> => {
    connected = connect({
      kubeconfig,
      namespaces: [namespace],
      pods: (own) => ({ image: 'lyceum:test', imagePullSecrets: [], volumeClaim: 'catalogue', namespace: own }),
      log,
    });
    operator = await startOperator({
      cluster: connected.cluster,
      metrics: connected.metrics,
      pods: connected.pods,
      volume: join(folder, 'volume'),
      fileRoot: undefined,
      guard: { allowLoopback: true, deniedCidrs: [] },
      ceiling: { files: 1000, fileSize: 2 ** 20, totalSize: 2 ** 20 },
      concurrentFetches: 2,
      urlOf: () => undefined,
      log,
    });
  };
  const stop = async (): Promise<void> => {
    await operator?.close();
    await connected?.close();
  };

  before(async () => {
    const definitions = execFileSync(join(import.meta.dirname, '../cluster/build.sh'), ['definitions'], {
      encoding: 'utf8',
    }).trim();
    definition = join(definitions, 'gateway.networking.k8s.io_httproutes.yaml');
    folder = await mkdtemp(join(tmpdir(), 'lyceum-route-'));
    api = await ownApiServer();
    namespace = await api.namespace();
    await kubectl('create', 'secret', 'generic', 'agents-tokens', '--from-literal=n8n=n8n-0123456789abcdef');
    ({ kubeconfig } = await api.operatorAccount(namespace));
    await start();
  });

  after(async () => {
    await stop();
    await api?.[Symbol.asyncDispose]();
    if (folder !== undefined) await rm(folder, { recursive: true, force: true });
  });

  it('says what is missing where the API server has none, and its other children run', async () => {
    await apply('agents', outside);
    await apply('quiet', outside);
    await apply('plain', {});
    for (const name of ['agents', 'quiet']) {
      await says(name, /^The API server has no HTTPRoutes/);
      const { reason, message } = await ready(name);
      assert.deepEqual({ reason, message }, { reason: 'RolloutFailed', message: missing });
      for (const kind of ['deployment', 'service']) assert.ok(await get(kind, name), `${kind} ${name}`);
    }
    const { status } = await get('skillgateway', 'agents');
    assert.equal(status.url, `http://agents.${namespace}.svc.cluster.local:8000/mcp`);
    assert.equal((await ready('plain')).reason, 'Progressing');
    await touch('agents');
    await eventually(
      'a Warning',
      () => events('agents'),
      (told) => told.length > 0,
    );
    assert.deepEqual(await events('agents'), ['Warning RolloutFailed']);
    assert.deepEqual(await events('plain'), []);
    assert.equal(connected.unready(), undefined);
  });

  it('has it once the API server has them, and so have the others, which nobody touched', async () => {
    await isDefined();
    await touch('agents');
    for (const name of ['agents', 'quiet']) {
      await eventually(`${name} has it`, () => route(name));
      await eventually(
        `${name} misses nothing`,
        () => ready(name),
        ({ reason }) => reason === 'Progressing',
      );
    }
  });

  it('is led to by the names and the Gateways of its spec', async () => {
    const { metadata, spec } = await route('agents');
    assert.deepEqual(
      metadata.ownerReferences.map(({ kind, name }: { kind: string; name: string }) => `${kind} ${name}`),
      ['SkillGateway agents'],
    );
    assert.deepEqual(spec, {
      parentRefs: [
        {
          group: 'gateway.networking.k8s.io',
          kind: 'Gateway',
          name: 'public',
          namespace: 'infra',
          sectionName: 'https',
        },
      ],
      hostnames: ['skills.example.com'],
      rules: [
        {
          matches: [{ path: { type: 'PathPrefix', value: '/' } }],
          backendRefs: [{ group: '', kind: 'Service', name: 'agents', port: 8000, weight: 1 }],
        },
      ],
    });
  });

  it('has it written once: not again by another look, by an operator that starts, or for what a controller says of it', async () => {
    const version = async (): Promise<string> => (await route('agents')).metadata.resourceVersion;
    const first = await version();
    await touch('agents');
    assert.equal(await version(), first);
    await stop();
    await start();
    await touch('agents');
    assert.equal(await version(), first);
    const parentRef = outside.httpRoute.parentRefs[0];
    const lastTransitionTime = '2026-01-01T00:00:00Z';
    const accepted = { type: 'Accepted', status: 'True', reason: 'Accepted', message: '', lastTransitionTime };
    const status = { parents: [{ parentRef, controllerName: 'example.com/controller', conditions: [accepted] }] };
    const body = JSON.stringify({ status });
    await kubectl('patch', 'httproute', 'agents', '--subresource=status', '--type=merge', '-p', body);
    const told = await version();
    assert.notEqual(told, first);
    await touch('agents');
    assert.equal(await version(), told);
  });

  it('has what somebody edits or deletes put right', async () => {
    const moved = [{ op: 'replace', path: '/spec/hostnames/0', value: 'evil.example' }];
    await kubectl('patch', 'httproute', 'agents', '--type=json', '-p', JSON.stringify(moved));
    await eventually('it has its name again', async () => {
      const { spec } = await route('agents');
      return spec.hostnames[0] === 'skills.example.com';
    });
    const filters = [{ type: 'RequestHeaderModifier', requestHeaderModifier: { remove: ['authorization'] } }];
    const added = [{ op: 'add', path: '/spec/rules/0/filters', value: filters }];
    await kubectl('patch', 'httproute', 'agents', '--type=json', '-p', JSON.stringify(added));
    await eventually('no filter is left', async () => !('filters' in (await route('agents')).spec.rules[0]));
    await kubectl('delete', 'httproute', 'agents');
    await eventually('it is back', () => route('agents'));
  });

  it('follows its spec, and loses it when it no longer asks for it', async () => {
    await apply('agents', { auth, httpRoute: { parentRefs: [{ name: 'inner' }] } });
    await eventually('another Gateway, and the names of its listeners', async () => {
      const { spec } = await route('agents');
      return spec.parentRefs[0].name === 'inner' && !('hostnames' in spec);
    });
    await apply('agents', { auth });
    await eventually('it is gone', async () => (await route('agents')) === undefined);
    await apply('agents', outside);
    await eventually('it is there again', () => route('agents'));
  });

  it('leaves an HTTPRoute of its name to its owner, and says so', async () => {
    const theirs = { apiVersion: 'gateway.networking.k8s.io/v1', kind: 'HTTPRoute', metadata: { name: 'shared' } };
    const manifest = { ...theirs, spec: { hostnames: ['theirs.example'] } };
    await api.kubectl(['-n', namespace, 'apply', '-f', '-'], JSON.stringify(manifest));
    const { resourceVersion } = (await route('shared')).metadata;
    await apply('shared', outside);
    await says('shared', /The HTTPRoute shared stands in the way/);
    await apply('shared', {});
    await eventually('it runs without', () => get('deployment', 'shared'));
    assert.equal((await route('shared')).metadata.resourceVersion, resourceVersion);
  });

  it('is what the example shows', async () => {
    await kubectl('apply', '-f', example);
    await eventually('the example has its HTTPRoute', () => route('outside'));
    assert.deepEqual((await route('outside')).spec.hostnames, ['skills.example.com']);
  });

  it('says it again when the API server has no more of them, and has it when they are back', async () => {
    await api.kubectl(['delete', '-f', definition, '--wait=true']);
    await says('quiet', /^The API server has no HTTPRoutes/);
    await apply('later', {});
    await eventually('others are served meanwhile', () => get('deployment', 'later'));
    assert.equal(connected.unready(), undefined);
    await isDefined();
    await touch('agents');
    for (const name of ['agents', 'quiet']) await eventually(`${name} has it again`, () => route(name));
  });
});
