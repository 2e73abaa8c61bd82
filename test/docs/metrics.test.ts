// The metrics that operations.md names are those that the programs have.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Registry } from 'prom-client';
import { operatorMetrics } from '../../operator/metrics.ts';
import { createServerMetrics } from '../../server/metrics.ts';
import { createSyncMetrics } from '../../sync/metrics.ts';
import { code, page, section, tableRows } from './pages.ts';

async function named(heading: string): Promise<string[]> {
  const rows = tableRows(section(await page('docs/operations.md'), heading));
  return rows.map(([name]) => code(name!)).sort();
}

/** Names of a registry's metrics, but for those of Node and the process, which every program has. */
const own = (registry: Registry): string[] =>
  registry
    .getMetricsAsArray()
    .map(({ name }) => name)
    .filter((name) => !/^(process|nodejs)_/.test(name))
    .sort();

test("the operator's metrics are listed, each by its name", async () => {
  const registry = new Registry();
  operatorMetrics(registry).controller('skillsource');
  assert.deepEqual(await named('Metrics of the operator'), own(registry));
});

test('the metrics of a copy are listed, each by its name', async () => {
  const { registry } = createSyncMetrics();
  assert.deepEqual(await named('Metrics of a copy'), own(registry));
});

test("the server's metrics are listed, each by its name", async () => {
  const { registry } = createServerMetrics();
  assert.deepEqual(await named('Metrics of the server'), own(registry));
});
