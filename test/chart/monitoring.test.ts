// What the chart brings for Prometheus and Grafana: taken by a real API server with the real definitions, rules by promtool.
import assert from 'node:assert/strict';
import { execFile, execFileSync } from 'node:child_process';
import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { promisify } from 'node:util';
import { stringify } from 'yaml';
import { type ApiServer, ownApiServer } from '../cluster/api-server.ts';
import { alertCases } from './alert-cases.ts';
import { helms, objects, only, type Rendered } from './helm.ts';
import { chart } from './values.ts';

const run = promisify(execFile);
const [helm4] = await helms();
const all = {
  metrics: {
    serviceMonitor: { enabled: true, labels: { release: 'prometheus' } },
    rules: { enabled: true, labels: { release: 'prometheus' }, runbooks: 'https://wiki.example/lyceum' },
    dashboard: { enabled: true },
  },
};

interface Alert {
  alert: string;
  expr: string;
  for?: string;
  labels: { severity: string };
  annotations: { summary: string; description: string; runbook_url: string };
}

const alertsOf = (rule: Rendered): Alert[] => rule.spec.groups.flatMap(({ rules }: { rules: Alert[] }) => rules);

describe('With the definitions of the Prometheus operator', () => {
  let server: ApiServer & AsyncDisposable;
  before(async () => {
    server = await ownApiServer();
    const folder = execFileSync(join(import.meta.dirname, '../cluster/build.sh'), ['definitions'], {
      encoding: 'utf8',
    }).trim();
    const files = (await readdir(folder)).filter((name) => name.startsWith('monitoring.'));
    for (const file of files) await server.kubectl(['apply', '--server-side', '-f', join(folder, file)]);
    for (const file of files) await server.kubectl(['wait', '--for=condition=Established', '-f', join(folder, file)]);
  });
  after(() => server?.[Symbol.asyncDispose]());

  for (const [what, values] of [
    ['servers in pods of their own', all],
    ['servers that copy the catalogue', { ...all, clusterWide: true, sync: { enabled: true } }],
    ['a server beside the operator', { ...all, sidecar: { enabled: true, gateway: 'agents' } }],
  ] as const) {
    test(`the API server takes monitors, rules and dashboard: ${what}`, async () => {
      const kinds = ['Service', 'ServiceMonitor', 'PodMonitor', 'PrometheusRule', 'ConfigMap'];
      const made = (await objects(helm4!, { namespace: 'default', values })).filter(({ kind }) => kinds.includes(kind));
      const apply = ['apply', '--server-side', '--dry-run=server', '--validate=strict', '-f', '-'];
      for (const object of made) {
        const { code, stderr } = await server.tryKubectl(apply, JSON.stringify(object));
        assert.deepEqual({ code, stderr }, { code: 0, stderr: '' }, object.kind);
      }
      for (const kind of kinds)
        assert.ok(
          made.some((object) => object.kind === kind),
          kind,
        );
    });
  }
});

test('none of it is there unless it is asked for', async () => {
  const kinds = (await objects(helm4!)).map(({ kind }) => kind);
  for (const kind of ['ServiceMonitor', 'PodMonitor', 'PrometheusRule', 'ConfigMap'])
    assert.ok(!kinds.includes(kind), kind);
});

test("the operator's Service for metrics and the ServiceMonitor find each other, and no other Service", async () => {
  const made = await objects(helm4!, { values: all });
  const { spec, metadata } = only(made, 'ServiceMonitor');
  assert.equal(metadata.labels?.release, 'prometheus');
  const matches = made.filter(
    ({ kind, metadata: { labels = {} } }) =>
      kind === 'Service' && Object.entries(spec.selector.matchLabels).every(([name, value]) => labels[name] === value),
  );
  assert.deepEqual(
    matches.map((one) => one.metadata.name),
    ['lyceum-metrics'],
  );
  assert.deepEqual(spec.endpoints, [{ port: 'metrics', interval: '30s', honorLabels: true }]);
  const deployment = only(made, 'Deployment').spec;
  assert.deepEqual(matches[0]?.spec.selector, deployment.selector.matchLabels);
  const ports = deployment.template.spec.containers[0].ports.map(({ name }: { name: string }) => name);
  assert.ok(ports.includes(matches[0]?.spec.ports[0].targetPort));
});

test('servers are told by their gateway', async () => {
  const { spec } = only(await objects(helm4!, { values: all }), 'PodMonitor');
  assert.deepEqual(spec.selector.matchLabels, { 'app.kubernetes.io/name': 'lyceum-gateway' });
  assert.deepEqual(spec.podMetricsEndpoints, [
    {
      port: 'metrics',
      interval: '30s',
      relabelings: [
        { sourceLabels: ['__meta_kubernetes_pod_label_app_kubernetes_io_instance'], targetLabel: 'gateway' },
      ],
    },
  ]);
});

test('servers that copy the catalogue are scraped wherever they are, and their copies too', async () => {
  const of = async (values: object) =>
    only(await objects(helm4!, { values: { ...all, sync: { enabled: true }, ...values } }), 'PodMonitor').spec;
  const everywhere = await of({ clusterWide: true });
  assert.deepEqual(everywhere.namespaceSelector, { any: true });
  const ports = everywhere.podMetricsEndpoints.map(({ port }: { port: string }) => port);
  assert.deepEqual(ports, ['metrics', 'sync']);
  const named = await of({ namespaces: ['skills', 'team-a'] });
  assert.deepEqual(named.namespaceSelector, { matchNames: ['skills', 'team-a'] });
});

describe('An alert', () => {
  let rule: Rendered;
  before(async () => {
    rule = only(await objects(helm4!, { values: all }), 'PrometheusRule');
  });

  test('says how bad it is, what is wrong, what that means, and where its runbook is', async () => {
    const text = await readFile(join(chart, '../../docs/operations.md'), 'utf8');
    for (const { alert, labels, annotations } of alertsOf(rule)) {
      assert.match(labels.severity, /^(critical|warning|info)$/, alert);
      assert.ok(annotations.summary.length > 20 && annotations.description.length > 20, alert);
      assert.equal(annotations.runbook_url, `https://wiki.example/lyceum#${alert.toLowerCase()}`);
      const [, runbook = ''] = text.split(`### ${alert}\n`);
      assert.ok(runbook.split('\n### ')[0]!.length > 150, `docs/operations.md has no runbook of ${alert}`);
    }
    const named = [...text.matchAll(/^### (Lyceum\w+)$/gm)].map(([, name]) => name);
    assert.deepEqual(
      named.toSorted(),
      alertsOf(rule)
        .map(({ alert }) => alert)
        .toSorted(),
    );
  });

  test("of the operator looks at the release's namespace alone", () => {
    const { expr, annotations } = alertsOf(rule).find(({ alert }) => alert === 'LyceumNoOperator')!;
    assert.match(expr, /namespace="skills"/);
    assert.match(annotations.summary, /in skills$/);
    assert.ok(!JSON.stringify(rule).includes('__'));
  });

  test('is valid, fires when it should, and not before: by promtool', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'lyceum-rules-'));
    try {
      await writeFile(join(folder, 'alerts.yaml'), stringify(rule.spec));
      await run('promtool', ['check', 'rules', '--lint=all', '--lint-fatal', join(folder, 'alerts.yaml')]);
      const firing = (alert: string) => `count(ALERTS{alertname="${alert}", alertstate="firing"})`;
      const tests = alertCases.map(({ alert, series, silent, fires }) => ({
        name: alert,
        interval: '1m',
        input_series: Object.entries(series).map(([name, values]) => ({ series: name, values })),
        promql_expr_test: [
          { expr: firing(alert), eval_time: silent, exp_samples: [] },
          { expr: firing(alert), eval_time: fires, exp_samples: [{ labels: '{}', value: 1 }] },
        ],
      }));
      const file = { rule_files: ['alerts.yaml'], evaluation_interval: '1m', tests };
      await writeFile(join(folder, 'test.yaml'), stringify(file));
      await run('promtool', ['test', 'rules', join(folder, 'test.yaml')]).catch(({ stdout, stderr }) => {
        assert.fail(`${stdout}${stderr}`);
      });
      const driven = alertCases.map(({ alert }) => alert);
      const known = alertsOf(rule).map(({ alert }) => alert);
      assert.deepEqual(driven.toSorted(), known.toSorted());
    } finally {
      await rm(folder, { recursive: true, force: true });
    }
  });
});

test('the dashboard is one that Grafana takes: panels with an id, a place and a question each', async () => {
  const { data, metadata } = only(await objects(helm4!, { values: all }), 'ConfigMap');
  assert.equal(metadata.labels?.grafana_dashboard, '1');
  const dashboard = JSON.parse(data['lyceum.json']);
  assert.deepEqual(dashboard, JSON.parse(await readFile(join(chart, 'files/dashboard.json'), 'utf8')));
  const ids = dashboard.panels.map(({ id }: { id: number }) => id);
  assert.equal(new Set(ids).size, ids.length);
  for (const panel of dashboard.panels) {
    if (panel.type === 'row') continue;
    assert.ok(panel.description.length > 10, panel.title);
    assert.match(panel.datasource.uid, /^\$\{datasource\}$/);
    assert.ok(panel.gridPos.x + panel.gridPos.w <= 24, panel.title);
    for (const { expr } of panel.targets) assert.ok(expr.length > 5, panel.title);
  }
});
