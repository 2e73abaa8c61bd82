// Downloads between real processes: servers with the tokens of real pods, and an operator that is killed while they count.
import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { copyFile, mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { operatorClient } from '../../server/operator/client.ts';
import { apiServer } from '../cluster/api-server.ts';
import { downloadsOn, installsIn, Replica } from '../downloads/support.ts';
import { eventually } from '../fixtures/eventually.ts';
import { LyceumProcess } from '../fixtures/lyceum-process.ts';
import { certificate } from '../kubernetes/certificates.ts';
import { callTool } from '../server/support/mcp.ts';

const api = await apiServer();
/** An envtest folder has no controllers, so there are no pods to speak for. */
const controllers = existsSync(join(api.bin, 'kube-controller-manager'));
let folder: string;
let volume: string;
let namespace: string;
let kubeconfig: string;
const processes: LyceumProcess[] = [];

const inNamespace = (...args: string[]): Promise<string> => api.kubectl(['-n', namespace, ...args]);
const apply = (kind: string, name: string, spec: object): Promise<string> =>
  api.kubectl(
    ['-n', namespace, 'apply', '-f', '-'],
    JSON.stringify({ apiVersion: 'lyceum.dev/v1alpha1', kind, metadata: { name }, spec }),
  );

before(async () => {
  folder = await mkdtemp(join(tmpdir(), 'lyceum-downloads-'));
  volume = join(folder, 'volume');
  namespace = await api.namespace();
  ({ kubeconfig } = await api.operatorAccount(namespace));
  await certificate(folder, 'operator');
  await mkdir(join(folder, 'tls'));
  for (const end of ['crt', 'key']) await copyFile(join(folder, `operator.${end}`), join(folder, `tls/tls.${end}`));
});
after(async () => {
  for (const process of processes) await process[Symbol.asyncDispose]();
  await rm(folder, { recursive: true, force: true });
});

function started(args: string[]): LyceumProcess {
  const process = new LyceumProcess(args);
  processes.push(process);
  return process;
}

async function startOperator(port = 0): Promise<{ process: LyceumProcess; port: number }> {
  const process = started([
    ...['operator', '--kubeconfig', kubeconfig, '--namespaces', namespace, '--volume', volume],
    ...[
      '--probes-port',
      '0',
      '--metrics-port',
      '0',
      '--callers-port',
      String(port),
      '--tls-folder',
      join(folder, 'tls'),
    ],
    ...['--volume-claim', 'catalogue', '--gateway-image', 'lyceum:test'],
  ]);
  const listens = await eventually('the operator', () => {
    assert.ok(process.running, process.said);
    return process.log.find(({ msg }) => msg === 'operator started')?.callersPort as number | undefined;
  });
  return { process, port: listens! };
}

/** The pods of a gateway, once there are so many. */
const podsOf = (gateway: string, wanted: number): Promise<string[]> =>
  eventually(
    `${wanted} pods of ${gateway}`,
    async () => {
      const label = `app.kubernetes.io/name=lyceum-gateway,app.kubernetes.io/instance=${gateway}`;
      return (await inNamespace('get', 'pods', '-l', label, '-o', 'name')).trim().split(/\s+/).filter(Boolean);
    },
    (pods) => pods.length === wanted,
  );

const tokenFile = (pod: string): string => join(folder, pod.replace('/', '-'));
async function writeToken(pod: string): Promise<string> {
  const bound = ['--bound-object-kind', 'Pod', '--bound-object-name', pod.replace('pod/', '')];
  await writeFile(tokenFile(pod), await inNamespace('create', 'token', 'default', '--audience', 'lyceum', ...bound));
  return tokenFile(pod);
}

interface Server {
  url: string;
  process: LyceumProcess;
  install(skill: string, times: number): Promise<void>;
  told(): Promise<Record<string, number>>;
}

async function startServer(gateway: string, pod: string, port: number): Promise<Server> {
  const process = started([
    ...['server', '--volume', volume, '--namespace', namespace, '--gateway', gateway],
    ...['--host', '127.0.0.1', '--port', '0', '--metrics-port', '0'],
    ...['--operator-url', `https://127.0.0.1:${port}`, '--operator-ca', join(folder, 'operator.crt')],
    ...['--operator-token', await writeToken(pod)],
  ]);
  const url = await eventually('the server', () => {
    assert.ok(process.running, process.said);
    return process.log.find(({ msg }) => msg === 'server started')?.url as string | undefined;
  });
  return {
    url: url!,
    process,
    async install(skill, times) {
      for (let time = 0; time < times; time++) {
        const { body } = await callTool(url!, 'install_skill', { skill });
        assert.notEqual(body.result.isError, true, JSON.stringify(body));
      }
    },
    async told() {
      const { body } = await callTool(url!, 'list_skills');
      const rows: { name: string; downloads: number }[] = JSON.parse(body.result.content[0].text);
      return Object.fromEntries(rows.map(({ name, downloads }) => [name, downloads]));
    },
  };
}

const kept = async (gateway: string): Promise<Record<string, number>> =>
  installsIn(await downloadsOn(volume, `${namespace}/${gateway}`));

const untilKept = (gateway: string, expected: Record<string, number>): Promise<unknown> =>
  eventually(
    `the volume says ${JSON.stringify(expected)}`,
    () => kept(gateway),
    (got) => JSON.stringify(got) === JSON.stringify(expected),
    60,
  );

if (controllers) {
  test('two servers count as one, whatever becomes of the operator, and nobody counts for another gateway', async () => {
    for (const name of ['agents', 'others']) {
      const skill = (skill: string) =>
        `--from-literal=skills__${skill}__SKILL.md=---\nname: ${skill}\ndescription: x\n---\n`;
      await inNamespace('create', 'configmap', name, skill('one'), skill(name));
      await apply('SkillSource', name, { url: `configmap://${name}` });
      await apply('SkillGateway', name, { sources: { names: [name] }, replicas: 2 });
    }
    let { process: operator, port } = await startOperator();
    await inNamespace('wait', '--for=condition=Ready', '--timeout=30s', 'skillsource/agents', 'skillsource/others');
    const [first, second] = await podsOf('agents', 2);
    const servers = [await startServer('agents', first!, port), await startServer('agents', second!, port)] as const;
    const [one, two] = servers;
    await Promise.all([one.install('one', 3), two.install('one', 4), two.install('agents', 1)]);
    await untilKept('agents', { 'skill agents/agents': 1, 'skill agents/one': 7 });
    for (const server of servers) {
      await eventually('both tell all', async () => (await server.told()).one === 7, Boolean, 30);
    }

    // It is killed wherever it is: before a batch, in the middle of one, or between its write and its answer.
    let installed = 7;
    for (let kill = 0; kill < 2; kill++) {
      await Promise.all([one.install('one', 20), two.install('one', 20)]);
      installed += 40;
      const wanted = installed;
      if (kill > 0)
        await eventually(
          'some of it is kept',
          async () => (await kept('agents'))['skill agents/one']! > wanted - 40,
          Boolean,
          30,
        );
      operator.kill('SIGKILL');
      await operator.ended();
      await Promise.all(servers.map((server) => server.install('one', 1)));
      installed += 2;
      for (const server of servers) assert.ok((await server.told()).one! <= installed);
      ({ process: operator } = await startOperator(port));
    }
    await untilKept('agents', { 'skill agents/agents': 1, 'skill agents/one': installed });

    two.process.kill('SIGTERM');
    await two.install('one', 1).catch(() => (installed -= 1));
    installed += 1;
    assert.equal(await two.process.ended(), 0, two.process.said);
    await untilKept('agents', { 'skill agents/agents': 1, 'skill agents/one': installed });

    const [stranger] = await podsOf('others', 2);
    const token = await writeToken(stranger!);
    const ask = operatorClient({ url: `https://127.0.0.1:${port}`, ca: join(folder, 'operator.crt'), token });
    const made = new Replica().batch({ 'skill agents/one': 1000, 'skill agents/agents': 1000, 'skill others/one': 5 });
    assert.equal((await ask('/counts', AbortSignal.timeout(10_000), made)).status, 200);
    assert.deepEqual(await kept('others'), { 'skill others/one': 5 });
    assert.deepEqual(await kept('agents'), { 'skill agents/agents': 1, 'skill agents/one': installed });

    await inNamespace('delete', 'skillgateway', 'others');
    await eventually('it goes with its gateway', () =>
      kept('others').then(
        () => false,
        () => true,
      ),
    );
    assert.equal((await kept('agents'))['skill agents/one'], installed);
  });
}
