// Several operators on one volume: processes of their own against a real API server, one leads, calls reach it through any.
import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { copyFile, mkdir, mkdtemp, rm } from 'node:fs/promises';
import { request } from 'node:https';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { after, before, describe, it } from 'node:test';
import { readIndex } from '../../catalogue/index-reader.ts';
import { apiServer } from '../cluster/api-server.ts';
import { eventually } from '../fixtures/eventually.ts';
import { LyceumProcess } from '../fixtures/lyceum-process.ts';
import { freePort } from '../fixtures/program.ts';
import { certificate } from '../kubernetes/certificates.ts';

const api = await apiServer();
const controllers = existsSync(join(api.bin, 'kube-controller-manager'));
const callersHost = 'lyceum-operator.test.svc';

class Operator {
  readonly process: LyceumProcess;
  readonly port: number;
  readonly #started: Promise<{ probesPort: number; metricsPort: number }>;

  constructor(kubeconfig: string, folder: string, port: number, more: string[] = []) {
    this.port = port;
    this.process = new LyceumProcess([
      ...['operator', '--kubeconfig', kubeconfig, '--volume', join(folder, 'volume'), '--lease', 'lyceum'],
      ...['--probes-port', '0', '--metrics-port', '0', '--callers-port', String(port), '--pod-address', '127.0.0.1'],
      ...['--tls-folder', join(folder, 'tls'), '--callers-url', `https://${callersHost}:9443`],
      ...['--callers-ca-secret', 'lyceum-tls', '--volume-claim', 'lyceum', '--gateway-image', 'lyceum:test', ...more],
    ]);
    this.#started = eventually('it has started', () => {
      const line = this.process.log.find(({ msg }) => msg === 'operator started');
      return line as { probesPort: number; metricsPort: number } | undefined;
    }) as Promise<{ probesPort: number; metricsPort: number }>;
  }

  static async start(kubeconfig: string, folder: string, more?: string[]): Promise<Operator> {
    const operator = new Operator(kubeconfig, folder, await freePort(), more);
    await operator.#started;
    return operator;
  }

  async ready(): Promise<boolean> {
    const { probesPort } = await this.#started;
    return (await fetch(`http://127.0.0.1:${probesPort}/readyz`)).ok;
  }

  async metrics(): Promise<string> {
    const { metricsPort } = await this.#started;
    return await (await fetch(`http://127.0.0.1:${metricsPort}/metrics`)).text();
  }

  /** As the metric tells it. */
  async leads(): Promise<boolean> {
    return /^leader_election_master_status\{name="lyceum"\} 1$/m.test(await this.metrics());
  }

  /** Requests to the API server that change something, but for those for the Lease. */
  async writes(): Promise<number> {
    const lines = (await this.metrics()).matchAll(
      /^rest_client_requests_total\{[^}]*method="(?:PATCH|POST|DELETE)"[^}]*\} (\d+)$/gm,
    );
    return [...lines].reduce((sum, [, times]) => sum + Number(times), 0);
  }
}

describe('Several operators', { skip: !controllers && 'there are no controllers' }, () => {
  let folder: string;
  let namespace: string;
  let kubeconfig: string;
  let ca: Buffer;
  let bearer: string;
  const operators: Operator[] = [];

  const inNamespace = (...args: string[]): Promise<string> => api.kubectl(['-n', namespace, ...args]);
  const apply = (manifest: object): Promise<string> =>
    api.kubectl(['-n', namespace, 'apply', '-f', '-'], JSON.stringify(manifest));
  const configMap = (words: string): Promise<string> =>
    apply({
      apiVersion: 'v1',
      kind: 'ConfigMap',
      metadata: { name: 'handbook' },
      data: { 'skills__one__SKILL.md': `---\nname: one\ndescription: ${words}\n---\n` },
    });
  const start = async (): Promise<Operator> => {
    const operator = await Operator.start(kubeconfig, folder);
    operators.push(operator);
    return operator;
  };
  const generation = async (): Promise<number> =>
    (await readIndex(join(folder, 'volume'), namespace, 'agents')).generation;

  const reindex = ({ port }: Operator): Promise<{ status: number; body: unknown }> => {
    const { promise, resolve, reject } = Promise.withResolvers<{ status: number; body: unknown }>();
    const headers = { authorization: bearer };
    request({ host: '127.0.0.1', port, path: '/reindex', method: 'POST', headers, ca, agent: false }, (response) => {
      text(response).then((body) => resolve({ status: response.statusCode!, body: JSON.parse(body) }), reject);
    })
      .on('error', reject)
      .end();
    return promise;
  };

  let first: Operator;
  let second: Operator;

  before(async () => {
    folder = await mkdtemp(join(tmpdir(), 'lyceum-leader-'));
    namespace = await api.namespace();
    ({ kubeconfig } = await api.operatorAccount(namespace));
    ({ cert: ca } = await certificate(folder, 'operator', callersHost));
    await mkdir(join(folder, 'tls'));
    for (const end of ['crt', 'key']) await copyFile(join(folder, `operator.${end}`), join(folder, `tls/tls.${end}`));
    await copyFile(join(folder, 'operator.crt'), join(folder, 'tls/ca.crt'));
    await configMap('First.');
    const metadata = { name: 'handbook' };
    const apiVersion = 'lyceum.dev/v1alpha1';
    await apply({ apiVersion, kind: 'SkillSource', metadata, spec: { url: 'configmap://handbook' } });
    await apply({ apiVersion, kind: 'SkillGateway', metadata: { name: 'agents' }, spec: {} });
    first = await start();
    await eventually('the first leads', () => first.leads());
    await inNamespace('wait', '--for=condition=Ready', '--timeout=20s', 'skillsource/handbook');
    second = await start();
    const pod = await eventually('a pod of the gateway', async () => {
      const labels = 'app.kubernetes.io/name=lyceum-gateway,app.kubernetes.io/instance=agents';
      const { items } = JSON.parse(await inNamespace('get', 'pods', '-l', labels, '-o', 'json'));
      return items[0]?.metadata.name as string | undefined;
    });
    const bound = ['--bound-object-kind', 'Pod', '--bound-object-name', pod!];
    bearer = `Bearer ${(await inNamespace('create', 'token', 'default', '--audience', 'lyceum', ...bound)).trim()}`;
  });

  after(async () => {
    await Promise.all(operators.map(({ process }) => process[Symbol.asyncDispose]()));
    await rm(folder, { recursive: true, force: true });
  });

  it('one leads; the other one is ready and writes nothing', async () => {
    await eventually('the second is ready', () => second.ready());
    const before = await generation();
    await configMap('Second.');
    await eventually('the change is published', generation, (now) => now > before);
    assert.deepEqual([await first.leads(), await second.leads()], [true, false]);
    assert.equal(await second.writes(), 0);
    assert.ok((await first.writes()) > 0);
  });

  it('a call is answered whichever of them takes it', async () => {
    for (const operator of [first, second]) {
      const { status, body } = await reindex(operator);
      assert.equal(status, 200, JSON.stringify(body));
      assert.deepEqual((body as { rebuilt: string[] }).rebuilt, ['handbook']);
    }
    assert.equal(await second.writes(), 0);
  });

  it('one that does not lead lets nobody in whom it does not know', async () => {
    const good = bearer;
    bearer = 'Bearer nobody';
    assert.equal((await reindex(second)).status, 401);
    bearer = good;
  });

  it('the leader hands over when it is told to stop, and a call that it can no longer answer is answered by the next one', async () => {
    const before = await generation();
    first.process.kill('SIGTERM');
    const answers = await Promise.all([reindex(second), reindex(second)]);
    assert.deepEqual(
      answers.map(({ status }) => status),
      [200, 200],
    );
    assert.equal(await first.process.ended(), 0);
    await eventually('the second leads', () => second.leads());
    const unchanged = await generation();
    assert.equal(unchanged, before, 'another leader alone is nothing new');
    await configMap('Third.');
    await eventually('the change is published', generation, (now) => now === before + 1);
  });

  it('another one takes over from a leader that dies, and nothing is lost', async () => {
    const third = await start();
    await eventually('the third is ready', () => third.ready());
    const before = await generation();
    second.process.kill('SIGKILL');
    await configMap('Fourth.');
    const answer = await reindex(third);
    assert.equal(answer.status, 200, JSON.stringify(answer.body));
    assert.equal(await third.leads(), true);
    assert.equal(await generation(), before + 1);
  });

  it('a leader whose Lease somebody else has taken ends, and says why', async () => {
    const leader = operators.at(-1)!;
    const stolen = { spec: { holderIdentity: 'thief_1', leaseTransitions: 99 } };
    await inNamespace('patch', 'lease', 'lyceum', '--type=merge', '-p', JSON.stringify(stolen));
    assert.equal(await leader.process.ended(), 1);
    assert.match(leader.process.said, /"why":"thief_1 holds the Lease".*leads no longer/);
    const { spec } = JSON.parse(await inNamespace('get', 'lease', 'lyceum', '-o', 'json'));
    assert.equal(spec.holderIdentity, 'thief_1');
  });

  it('an operator that may not have the Lease is not ready, and says what is missing', async () => {
    await inNamespace('delete', 'rolebinding', 'lyceum-operator-leader');
    const operator = new Operator(kubeconfig, folder, await freePort());
    operators.push(operator);
    const line = await eventually('it says so', () =>
      operator.process.log.find(({ msg }) => msg === 'the Lease could not be read or written'),
    );
    assert.match(String(line?.error), /leases\/lyceum: the API server answered 403 .*grant it in the Role/);
    assert.equal(await operator.ready(), false);
  });
});
