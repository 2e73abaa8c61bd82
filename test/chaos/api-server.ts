// What API servers do to their clients, one thing after the other, to one operator: it sees each change, and is never restarted.
// FAULTS=restarted,gone does some of them, ROUNDS=1 all of them once.
import { createHash } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { isDeepStrictEqual } from 'node:util';
import { stringify } from 'yaml';
import { readIndex } from '../../catalogue/index-reader.ts';
import { readSourceCatalogue } from '../../catalogue/source-catalogue-reader.ts';
import { ownApiServer } from '../cluster/api-server.ts';
import { eventually } from '../fixtures/eventually.ts';
import { LyceumProcess } from '../fixtures/lyceum-process.ts';
import { skillText } from '../fixtures/operator.ts';
import { FaultProxy } from './fault-proxy.ts';
import { type Outcome, type Proof, selection, size } from './proof.ts';

const second = 1000;
/** A silent watch is given up after 150 s; the rest is room for a slow machine. */
const recoverySeconds = 240;

interface Stage {
  api: Awaited<ReturnType<typeof ownApiServer>>;
  proxy: FaultProxy;
  /** Makes a source, changes one and deletes one, at the API server itself. */
  change(): Promise<void>;
}

/** Each is over, as far as the API server goes, when it resolves, and has called `change` once. */
const faults: Record<string, (stage: Stage) => Promise<void>> = {
  async restarted({ api, change }) {
    await api.kill('kube-apiserver');
    await api.restart('kube-apiserver');
    await change();
  },
  async gone({ api, proxy, change }) {
    const before = proxy.gone;
    proxy.behave({ does: 'cut' });
    await change();
    // A new API server knows nothing of what was before it: a watch from there is answered with 410.
    await api.kill('kube-apiserver');
    await api.restart('kube-apiserver');
    proxy.behave({ does: 'pass' });
    await eventually(
      'a 410',
      () => proxy.gone - before,
      (answers) => answers > 0,
      recoverySeconds,
    );
  },
  async refused({ proxy, change }) {
    const before = proxy.refused;
    proxy.behave({ does: 'refuse', retryAfterSeconds: 3 });
    await change();
    await eventually(
      'each watch has been refused',
      () => proxy.refused - before,
      (refusals) => refusals >= 3,
      recoverySeconds,
    );
    proxy.behave({ does: 'pass' });
  },
  async slow({ proxy, change }) {
    proxy.behave({ does: 'delay', milliseconds: 3 * second });
    await change();
    await pause(20 * second);
    proxy.behave({ does: 'pass' });
  },
  async etcd({ api, change }) {
    await api.kill('etcd');
    await pause(60 * second);
    await api.restart('etcd');
    await change();
  },
  async frozen({ proxy, change }) {
    proxy.freeze();
    await change();
  },
};

const digestOf = (text: string): string => `sha256:${createHash('sha256').update(text).digest('hex')}`;

export const apiServer: Proof = {
  name: 'api-server',
  says: 'an API server restarted, gone, refusing, slow, without etcd for a minute, and silent: every change is seen, one watch a resource',
  async run(progress): Promise<Outcome> {
    const rounds = size('ROUNDS', 3);
    const chosen = selection('FAULTS', Object.keys(faults));
    await using api = await ownApiServer();
    await using proxy = await FaultProxy.start(api);
    const folder = await mkdtemp(join(tmpdir(), 'lyceum-api-server-'));
    const volume = join(folder, 'volume');
    const namespace = await api.namespace();
    const { kubeconfig } = await api.operatorAccount(namespace);
    /** What every source must serve now: the text of its one skill. */
    const wanted = new Map<string, string>();
    let turn = 0;

    const apply = async (name: string): Promise<void> => {
      const text = skillText('one', `Turn ${turn}.`);
      const objects = [
        {
          apiVersion: 'v1',
          kind: 'ConfigMap',
          metadata: { namespace, name },
          data: { 'skills__one__SKILL.md': text },
        },
        {
          apiVersion: 'lyceum.dev/v1alpha1',
          kind: 'SkillSource',
          metadata: { namespace, name },
          spec: { url: `configmap://${name}` },
        },
      ];
      await api.kubectl(['apply', '-f', '-'], objects.map((object) => stringify(object)).join('---\n'));
      wanted.set(name, text);
    };
    const change = async (): Promise<void> => {
      const last = `made-${turn}`;
      turn += 1;
      await apply(`made-${turn}`);
      await apply('changed');
      await api.kubectl(['-n', namespace, 'delete', '--wait=false', `skillsource/${last}`]);
      wanted.delete(last);
    };
    const served = async (): Promise<Record<string, string | undefined>> => {
      const { sources } = await readIndex(volume, namespace, 'agents');
      const rows = sources.map(async ({ name, catalogue }) => {
        const artifacts = catalogue === undefined ? [] : (await readSourceCatalogue(volume, catalogue)).artifacts;
        return [name, artifacts[0]?.files[0]?.digest] as const;
      });
      return Object.fromEntries((await Promise.all(rows)).sort(([one], [other]) => (one < other ? -1 : 1)));
    };
    const mustBeServed = (): Record<string, string> =>
      Object.fromEntries(
        [...wanted].sort(([one], [other]) => (one < other ? -1 : 1)).map(([name, text]) => [name, digestOf(text)]),
      );
    const allServed = async (): Promise<void> => {
      const seen = (found: object): boolean => isDeepStrictEqual(found, mustBeServed());
      await eventually('every change is served', served, seen, recoverySeconds);
      await eventually(
        'every source says so',
        async () => await api.kubectl(['-n', namespace, 'get', 'skillsources', '-o', 'json']),
        (text) => {
          const { items } = JSON.parse(text) as { items: SourceObject[] };
          return items.length === wanted.size && items.every(isReady);
        },
        recoverySeconds,
      );
    };
    const oneWatchEach = async (): Promise<void> => {
      await eventually(
        'one watch a resource',
        () => proxy.watches,
        (counts) =>
          isDeepStrictEqual(Object.keys(counts).sort(), watched) && Object.values(counts).every((count) => count === 1),
        recoverySeconds,
      );
    };

    const gateway = {
      apiVersion: 'lyceum.dev/v1alpha1',
      kind: 'SkillGateway',
      metadata: { namespace, name: 'agents' },
    };
    await api.kubectl(['apply', '-f', '-'], stringify({ ...gateway, spec: {} }));
    await apply('changed');
    await apply(`made-${turn}`);
    const watched = [
      `/api/v1/namespaces/${namespace}/configmaps`,
      `/apis/lyceum.dev/v1alpha1/namespaces/${namespace}/skillgateways`,
      `/apis/lyceum.dev/v1alpha1/namespaces/${namespace}/skillsources`,
    ];
    await using operator = new LyceumProcess([
      ...['operator', '--kubeconfig', await proxy.kubeconfig(kubeconfig), '--namespaces', namespace],
      ...['--volume', volume, '--probes-port', '0', '--metrics-port', '0'],
    ]);
    const broken: string[] = [];
    let slowest = 0;
    let done = 0;
    try {
      await allServed();
      await oneWatchEach();
      for (let round = 1; round <= rounds; round++) {
        for (const name of chosen) {
          const began = performance.now();
          try {
            await faults[name]!({ api, proxy, change });
            const over = performance.now();
            await allServed();
            await oneWatchEach();
            slowest = Math.max(slowest, performance.now() - over);
          } catch (error) {
            broken.push(`${name}: ${error instanceof Error ? error.message : error}`);
            proxy.behave({ does: 'pass' });
          }
          if (!operator.running) throw new Error(`${name}: the operator has ended: ${operator.said.slice(-1000)}`);
          done += 1;
          progress(`${name}: ${((performance.now() - began) / second).toFixed(0)} s`);
        }
      }
      if (proxy.early > 0) broken.push(`${proxy.early} lists or watches came before their Retry-After was over`);
    } catch (error) {
      broken.push(error instanceof Error ? error.message : String(error));
    } finally {
      await operator[Symbol.asyncDispose]();
      await rm(folder, { recursive: true, force: true });
    }
    return {
      figures: {
        faults: done,
        'answers 410': proxy.gone,
        'answers 429': proxy.refused,
        'seconds until all was seen, at most': Math.ceil(slowest / second),
      },
      broken,
    };
  },
};

interface SourceObject {
  metadata: { generation: number };
  status?: { observedGeneration?: number; conditions?: { type: string; status: string }[] };
}

const isReady = ({ metadata, status }: SourceObject): boolean =>
  status?.observedGeneration === metadata.generation &&
  status.conditions?.some(({ type, status: value }) => type === 'Ready' && value === 'True') === true;
