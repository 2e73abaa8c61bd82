import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Registry } from 'prom-client';
import { operatorMetrics } from '../../operator/metrics.ts';

const counts = {
  skills: 14,
  prompts: 0,
  rules: 1,
  profiles: 2,
  files: 40,
  discovered: 16,
  duplicates: 1,
  rejected: 1,
  problems: 3,
};

test('a source has its series, and takes them with it when it goes', async () => {
  const registry = new Registry();
  const { sources } = operatorMetrics(registry);
  for (const key of ['flow/superpowers', 'flow/other']) {
    sources.standing(key, 'stale', counts);
    sources.succeeded(key, 1_762_000_000);
    sources.fetchSeconds(key, 0.7);
    sources.fetchBytes(key, 1_000);
    sources.fetchBytes(key, 24);
    sources.gitReader(key, 'partial-clone');
    sources.gitReader(key, 'isomorphic-git');
  }
  sources.standing('flow/other', 'ok', counts);
  const text = await registry.metrics();
  for (const [family, labels, value] of [
    ['ready', '', '0'],
    ['stale', '', '1'],
    ['last_success_timestamp_seconds', '', '1762000000'],
    ['fetch_seconds_sum', '', '0.7'],
    ['fetch_bytes_total', '', '1024'],
    ['artifacts', ',kind="skills"', '14'],
    ['artifacts', ',kind="profiles"', '2'],
    ['problems', '', '3'],
    ['git_reader', ',reader="isomorphic-git"', '1'],
  ] as const) {
    const line = `lyceum_source_${family}{namespace="flow",name="superpowers"${labels}} ${value}\n`;
    assert.ok(text.includes(line), line);
  }
  assert.ok(text.includes('lyceum_source_ready{namespace="flow",name="other"} 1\n'));
  assert.ok(!text.includes('reader="partial-clone"'), 'one reader at a time');
  sources.forget('flow/superpowers');
  const after = await registry.metrics();
  assert.ok(!after.includes('superpowers'));
  assert.ok(after.includes('name="other"'));
});

test('a source of which nothing is published has its series too', async () => {
  const registry = new Registry();
  const { sources } = operatorMetrics(registry);
  sources.standing('flow/new', 'pending', undefined);
  const text = await registry.metrics();
  assert.ok(text.includes('lyceum_source_ready{namespace="flow",name="new"} 0\n'));
  assert.ok(text.includes('lyceum_source_stale{namespace="flow",name="new"} 0\n'));
  assert.ok(text.includes('lyceum_source_artifacts{namespace="flow",name="new",kind="skills"} 0\n'));
});

test('requests and watches are counted', async () => {
  const registry = new Registry();
  const metrics = operatorMetrics(registry);
  metrics.requested('GET', '200', '10.0.0.1:443');
  metrics.watches.restarted('skillsources', 'gone');
  metrics.watches.heard('skillsources', 1_762_000_000_500);
  const text = await registry.metrics();
  assert.ok(text.includes('rest_client_requests_total{code="200",method="GET",host="10.0.0.1:443"} 1\n'));
  assert.ok(text.includes('lyceum_watch_restarts_total{resource="skillsources",reason="gone"} 1\n'));
  assert.ok(text.includes('lyceum_watch_last_event_timestamp_seconds{resource="skillsources"} 1762000000.5\n'));
});
