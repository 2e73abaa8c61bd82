// Played on the node by rolling.ts: a gateway's servers are replaced until enough calls have been answered.
import assert from 'node:assert/strict';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { install } from '../e2e/helm.ts';
import {
  type Anything,
  ClientPod,
  cluster,
  get,
  pods,
  removeEverything,
  restrictedNamespace,
  volumeFor,
} from '../e2e/pods.ts';
import { reportFailures } from '../e2e/report.ts';
import { eventually } from '../fixtures/eventually.ts';
import type { Rolled } from './rolling.ts';

const url = 'http://agents.lyceum.svc.cluster.local:8000/mcp';
const skill = 'skill://house-rules/house-style';
const servers = 'app.kubernetes.io/name=lyceum-gateway,app.kubernetes.io/instance=agents';
const wanted = Number(process.env.CALLS);

const kubectl = (...args: string[]) => cluster.kubectl([...args.slice(0, 1), '-n', 'lyceum', ...args.slice(1)]);

/** Ways in which servers are replaced, one after the other. */
const replacements: readonly ((turn: number) => Promise<unknown>)[] = [
  () => cluster.kubectl(['rollout', 'restart', '-n', 'lyceum', 'deployment/agents']),
  (turn) => {
    const resources = { requests: { cpu: '10m', memory: `${64 + (turn % 32)}Mi` }, limits: { memory: '384Mi' } };
    return kubectl('patch', 'skillgateway', 'agents', '--type', 'merge', '-p', JSON.stringify({ spec: { resources } }));
  },
  async () => {
    const [first] = await pods('lyceum', servers);
    await kubectl('delete', 'pod', first.metadata.name, '--wait=false');
  },
];

describe('three servers', () => {
  reportFailures();
  let client: ClientPod;

  before(async () => {
    for (const namespace of ['lyceum', 'agents']) await restrictedNamespace(namespace);
    await volumeFor({ namespace: 'lyceum', name: 'lyceum' });
    await install('helm4', 'lyceum');
    await kubectl('apply', '-f', join(import.meta.dirname, '../../examples/cluster/skills.yaml'));
    await kubectl('patch', 'skillgateway', 'agents', '--type', 'merge', '-p', '{"spec":{"replicas":3}}');
    client = await ClientPod.start('agents');
  });
  after(removeEverything);

  const threeReady = () =>
    eventually(
      'three servers are ready, and those of before have ended',
      () => get('lyceum', 'pods', '-l', servers),
      ({ items }) =>
        items.length === 3 &&
        items.every(
          ({ metadata, status }: Anything) =>
            metadata.deletionTimestamp === undefined &&
            status.conditions?.some(({ type, status }: Anything) => type === 'Ready' && status === 'True'),
        ),
      120,
    );

  it('are replaced, and every call is answered', async () => {
    await threeReady();
    await client.until(url, skill, 'Short sentences');
    const load = await client.mixed(url, skill);
    const replaced = new Set<string>();
    let restarts = 0;
    let calls = 0;
    for (; calls < wanted || restarts < replacements.length; restarts++) {
      const before: string[] = (await pods('lyceum', servers)).map(({ metadata }) => metadata.uid);
      await replacements[restarts % replacements.length]!(restarts);
      await eventually(
        'a server of before is gone',
        () => pods('lyceum', servers),
        (now) => !before.every((uid) => now.some(({ metadata }) => metadata.uid === uid)),
        120,
      );
      await threeReady();
      const now = new Set((await pods('lyceum', servers)).map(({ metadata }) => metadata.uid));
      for (const uid of before) if (!now.has(uid)) replaced.add(uid);
      calls = load.told();
    }
    const { reads, failures, slowestMilliseconds } = await load.sum();
    const rolled: Rolled = { calls: reads, failures, pods: replaced.size, restarts, slowestMilliseconds };
    await writeFile(process.env.ROLLING_RESULT!, JSON.stringify(rolled));
    assert.deepEqual(failures, []);
  });
});
