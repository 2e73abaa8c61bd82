// A real Prometheus scrapes a real operator and servers: each panel of the dashboard has something to show, and alerts fire for real faults.
import assert from 'node:assert/strict';
import { type ChildProcess, execFileSync, spawnSync } from 'node:child_process';

import { cp, mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { parse, stringify } from 'yaml';
import { chart } from '../chart/values.ts';
import { apiServer } from '../cluster/api-server.ts';
import { eventually } from '../fixtures/eventually.ts';
import { LyceumProcess } from '../fixtures/lyceum-process.ts';
import { skillText } from '../fixtures/operator.ts';
import { freePort, startProgram, stopProgram } from '../fixtures/program.ts';

const api = await apiServer();
const asRoot = process.getuid?.() === 0;
const apiVersion = 'lyceum.dev/v1alpha1';

interface Rule {
  alert: string;
  expr: string;
  for?: string;
}

/** The alerts as they ship, with seconds in the place of minutes, so that a test sees them fire. */
async function hasty(namespace: string): Promise<string> {
  const text = (await readFile(join(chart, 'files/alerts.yaml'), 'utf8')).replaceAll('__NAMESPACE__', namespace);
  const file = parse(text) as { groups: { name: string; interval?: string; rules: Rule[] }[] };
  for (const group of file.groups) {
    group.interval = '1s';
    for (const rule of group.rules) {
      if (rule.for !== undefined) rule.for = '2s';
      rule.expr = rule.expr.replace(/\[\d+[mh]\]/g, '[10s]').replace(/> 600$/, '> 3');
    }
  }
  return stringify(file);
}

describe('A real Prometheus', () => {
  let folder: string;
  let namespace: string;
  let url: string;
  let prometheus: ChildProcess;
  const processes: LyceumProcess[] = [];
  let operator: LyceumProcess;
  let steady: NodeJS.Timeout;

  const apply = (kind: string, name: string, spec: object): Promise<string> =>
    api.kubectl(['apply', '-n', namespace, '-f', '-'], JSON.stringify({ apiVersion, kind, metadata: { name }, spec }));
  const configMap = (name: string, body: string): Promise<string> =>
    api.kubectl(
      ['apply', '-n', namespace, '-f', '-'],
      JSON.stringify({
        apiVersion: 'v1',
        kind: 'ConfigMap',
        metadata: { name },
        data: { 'skills__one__SKILL.md': skillText('one', body), 'loose.txt': 'x' },
      }),
    );
  const ask = async (
    path: string,
    query: Record<string, string> = {},
  ): Promise<{ result: { metric: Record<string, string>; value: [number, string] }[] }> => {
    const response = await fetch(`${url}/api/v1/${path}?${new URLSearchParams(query)}`);
    const body = (await response.json()) as { status: string; error?: string; data: { result: [] } };
    assert.equal(body.status, 'success', `${body.error} ${query.query}`);
    return body.data;
  };
  const firing = async (): Promise<string[]> => {
    const { result } = await ask('query', { query: 'ALERTS{alertstate="firing"}' });
    return [...new Set(result.map(({ metric }) => metric.alertname!))].toSorted();
  };
  const fires = (alert: string): Promise<unknown> =>
    eventually(`${alert} fires`, firing, (now) => now.includes(alert), 40);
  const start = async (name: string, args: string[]): Promise<number> => {
    const metricsPort = await freePort();
    const process = new LyceumProcess([...args, '--metrics-port', String(metricsPort)]);
    processes.push(process);
    await eventually(`${name} has started`, () =>
      process.log.some(({ msg }) => / started$|listening|serving/.test(msg)),
    );
    return metricsPort;
  };

  before(async () => {
    folder = await mkdtemp(join(tmpdir(), 'lyceum-prometheus-'));
    namespace = await api.namespace();
    const volume = join(folder, 'volume');
    await mkdir(volume);
    if (asRoot) execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=4m', 'tmpfs', volume]);
    const { kubeconfig } = await api.operatorAccount(namespace);
    await configMap('good', 'Do it.');
    await configMap('turning', 'Do it.');
    await apply('SkillSource', 'good', { url: 'configmap://good' });
    await apply('SkillSource', 'turning', { url: 'configmap://turning' });
    await apply('SkillGateway', 'agents', {});

    const operatorPort = await freePort();
    operator = new LyceumProcess([
      ...['operator', '--kubeconfig', kubeconfig, '--volume', volume, '--lease', 'lyceum', '--probes-port', '0'],
      ...['--metrics-port', String(operatorPort)],
    ]);
    processes.push(operator);
    await api.kubectl([
      'wait',
      '-n',
      namespace,
      '--for=condition=Ready',
      '--timeout=30s',
      'skillsource/good',
      'skillsource/turning',
      'skillgateway/agents',
    ]);

    const port = await freePort();
    const serving = ['server', '--host', '127.0.0.1', '--namespace', namespace, '--gateway', 'agents'];
    const serverPort = await start('the server', [...serving, '--volume', volume, '--port', String(port)]);
    // One whose volume does not move any more, and that finds it broken later.
    await cp(volume, join(folder, 'stuck'), { recursive: true });
    const stuckPort = await start('the other server', [...serving, '--volume', join(folder, 'stuck'), '--port', '0']);

    const body = JSON.stringify({
      jsonrpc: '2.0',
      id: 1,
      method: 'resources/read',
      params: { uri: 'skill://good/one' },
    });
    const headers = { 'content-type': 'application/json', accept: 'application/json, text/event-stream' };
    const read = () => fetch(`http://127.0.0.1:${port}/mcp`, { method: 'POST', headers, body });
    await eventually('it reads', async () => (await (await read()).text()).includes('Do it.'));
    assert.equal((await fetch(`http://127.0.0.1:${port}/skills/good/one/archive`)).status, 200);

    url = `http://127.0.0.1:${await freePort()}`;
    await writeFile(join(folder, 'alerts.yaml'), await hasty(namespace));
    const target = (at: number, labels: object) => ({ targets: [`127.0.0.1:${at}`], labels: { namespace, ...labels } });
    const config = {
      global: { scrape_interval: '1s', evaluation_interval: '1s' },
      rule_files: [join(folder, 'alerts.yaml')],
      scrape_configs: [
        { job_name: 'operator', honor_labels: true, static_configs: [target(operatorPort, { pod: 'operator' })] },
        {
          job_name: 'servers',
          static_configs: [
            target(serverPort, { gateway: 'agents', pod: 'a' }),
            target(stuckPort, { gateway: 'agents', pod: 'b' }),
          ],
        },
      ],
    };
    await writeFile(join(folder, 'prometheus.yaml'), stringify(config));
    await mkdir(join(folder, 'data'));
    const options = [
      `--config.file=${join(folder, 'prometheus.yaml')}`,
      `--storage.tsdb.path=${join(folder, 'data')}`,
      `--web.listen-address=${url.slice('http://'.length)}`,
    ];
    prometheus = await startProgram('prometheus', options, Number(new URL(url).port), join(folder, 'none'));
    steady = setInterval(() => void read().catch(() => {}), 100);
  });

  after(async () => {
    clearInterval(steady);
    if (prometheus) await stopProgram(prometheus);
    await Promise.all(processes.map((process) => process[Symbol.asyncDispose]()));
    if (asRoot)
      await eventually('nothing of the disk is open', () => spawnSync('umount', [join(folder, 'volume')]).status === 0);
    await rm(folder, { recursive: true, force: true });
  });

  test('reaches all of them', async () => {
    await eventually(
      'three targets are up',
      async () => (await ask('query', { query: 'sum(up)' })).result[0]?.value[1],
      (up) => up === '3',
    );
  });

  test('has something to show on each panel of the dashboard', async () => {
    const { panels } = JSON.parse(await readFile(join(chart, 'files/dashboard.json'), 'utf8'));
    const questions: [string, string][] = panels.flatMap(
      ({ title, targets = [] }: { title: string; targets?: { expr: string }[] }) =>
        targets.map(({ expr }) => [title, expr.replaceAll('$namespace', '.*').replaceAll('$__rate_interval', '10s')]),
    );
    assert.ok(questions.length > 20);
    for (const [title, query] of questions) {
      await eventually(`${title}: ${query}`, async () => (await ask('query', { query })).result.length > 0);
    }
  });

  test('knows every metric that an alert asks for', async () => {
    const text = await hasty(namespace);
    const names = new Set(text.match(/\b(lyceum|controller_runtime|workqueue|nodejs|leader_election)_[a-z0-9_]+/g));
    // Only a server with a Live source has it.
    names.delete('lyceum_live_failures_total');
    for (const name of names) {
      const { result } = await ask('query', { query: `count({__name__="${name}"})` });
      assert.equal(result.length, 1, name);
    }
  });

  test('sees nothing wrong while all is well', async () => {
    // Watches are quiet for longer than the three seconds that a test has in the place of ten minutes.
    assert.deepEqual(
      (await firing()).filter((alert) => alert !== 'LyceumWatchSilent'),
      [],
    );
  });

  test('tells of a source that fails, and of one that is served stale', async () => {
    await apply('SkillSource', 'missing', { url: 'configmap://missing' });
    await fires('LyceumSourceNotReady');
    await api.kubectl(['delete', 'configmap', 'turning', '-n', namespace]);
    await fires('LyceumSourceStale');
  });

  test('tells of a gateway that is not ready', async () => {
    await apply('SkillGateway', 'closed', { auth: { tokens: { secretRef: { name: 'nobody-made-it' } } } });
    await fires('LyceumGatewayNotReady');
  });

  test('tells of a server that serves an old catalogue, and of one that cannot load it', async () => {
    await fires('LyceumServerBehind');
    await writeFile(join(folder, 'stuck/gateways', namespace, 'agents/index.json'), '{"format": 2');
    await fires('LyceumCatalogueNotLoading');
  });

  test('tells of a volume that fills, and of one that is full', {
    skip: !asRoot && 'only root may mount a disk',
  }, async () => {
    const filler = join(folder, 'volume/filler');
    await writeFile(filler, Buffer.alloc(8_000_000)).catch(() => {});
    await fires('LyceumVolumeFilling');
    await fires('LyceumVolumeFailed');
    await rm(filler);
  });

  test('tells of reconciles that the API server refuses, and of a watch that is silent', async () => {
    await api.kubectl(['delete', 'rolebinding', 'lyceum-operator', '-n', namespace]);
    await api.kubectl(['annotate', 'skillsource', 'good', '-n', namespace, 'lyceum.dev/requestedAt=now']);
    await api.kubectl(['annotate', 'skillsource', 'missing', '-n', namespace, 'lyceum.dev/requestedAt=now']);
    await fires('LyceumWatchSilent');
    await fires('LyceumReconcileErrors');
  });

  test('tells that no operator works', async () => {
    operator.kill('SIGKILL');
    await fires('LyceumNoOperator');
  });
});
