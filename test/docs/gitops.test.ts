// The health check that docs/gitops.md gives to Argo CD, run by Lua 5.1, the language that Argo CD runs it in.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { parse } from 'yaml';
import { sourceStatus } from '../../operator/reconcile/source-status.ts';
import { repository } from './pages.ts';

const { data } = parse(await readFile(join(repository, 'examples/gitops/argocd-cm.yaml'), 'utf8'));

/** A value as Lua writes it. */
function lua(value: unknown): string {
  if (Array.isArray(value)) return `{${value.map(lua).join(', ')}}`;
  if (typeof value === 'object' && value !== null) {
    const fields = Object.entries(value).flatMap(([key, one]) => (one === undefined ? [] : `["${key}"] = ${lua(one)}`));
    return `{${fields.join(', ')}}`;
  }
  return JSON.stringify(value);
}

function health(kind: string, object: object): string {
  const check = data[`resource.customizations.health.lyceum.dev_${kind}`];
  const program = `obj = ${lua(object)}\nlocal health = (function()\n${check}\nend)()\nprint(health.status .. ": " .. health.message)`;
  const { stdout, stderr, error } = spawnSync('lua5.1', ['-'], { input: program, encoding: 'utf8' });
  assert.equal(error, undefined, 'Argo CD runs Lua: install lua5.1 with your package manager');
  assert.equal(stderr, '');
  return stdout.trim();
}

const now = '2026-01-01T00:00:00Z';
const published = {
  revision: 'main@sha1:1111111111111111111111111111111111111111',
  artifactDigest: `sha256:${'1'.repeat(64)}`,
  built: now,
  size: 10,
  files: 1,
  counts: {
    skills: 1,
    prompts: 0,
    rules: 0,
    profiles: 0,
    files: 0,
    discovered: 1,
    duplicates: 0,
    rejected: 0,
    problems: 0,
  },
  problems: [],
};
const source = (status: unknown, generation = 2) => ({ metadata: { generation }, status });
const told = (...[before, standing]: [unknown, Parameters<typeof sourceStatus>[2]]) =>
  sourceStatus(before, 2, standing, published, undefined, now);

test('a source that no operator has seen is Progressing', () => {
  for (const object of [source(undefined), source({ observedGeneration: -1 }), source(told({}, { state: 'ready' }), 3)])
    assert.match(health('SkillSource', object), /^Progressing: /);
});

test('a source during its first look is Progressing', () => {
  const status = told({}, { state: 'progressing', message: 'The first look is under way' });
  assert.equal(health('SkillSource', source(status)), 'Progressing: The first look is under way');
});

test('a source that is served as upstream has it is Healthy', () => {
  assert.equal(health('SkillSource', source(told({}, { state: 'ready' }))), 'Healthy: Serving 1 skill');
});

test('a source that fails is Degraded, whether a person must act or not, and says why', () => {
  for (const reason of ['Unreachable', 'InvalidSpec', 'LimitExceeded'] as const) {
    const status = told({}, { state: 'failed', reason, message: 'Of the reason' });
    assert.match(health('SkillSource', source(status)), /^Degraded: Of the reason\. The last good catalogue/);
  }
});

test('a suspended source is Suspended', () => {
  const status = told(told({}, { state: 'ready' }), { state: 'suspended' });
  assert.match(health('SkillSource', source(status)), /^Suspended: /);
});

test('a gateway is judged alike', () => {
  const of = (status: string) => ({
    metadata: { generation: 1 },
    status: {
      observedGeneration: 1,
      conditions: [
        { type: 'SourcesReady', status: 'False', message: 'one is stale' },
        { type: 'Ready', status, message: 'pods' },
      ],
    },
  });
  assert.equal(health('SkillGateway', of('True')), 'Healthy: pods');
  assert.equal(health('SkillGateway', of('Unknown')), 'Progressing: pods');
  assert.equal(health('SkillGateway', of('False')), 'Degraded: pods');
});
