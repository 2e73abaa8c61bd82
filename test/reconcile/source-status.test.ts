import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { ProblemRow } from '../../catalogue/source-catalogue.ts';
import type { Condition } from '../../operator/reconcile/conditions.ts';
import { type Publication, type Standing, sourceStatus } from '../../operator/reconcile/source-status.ts';
import { skillSourceStatusSchema } from '../../operator/resources/skill-source.ts';

const before = '2026-01-01T00:00:00Z';
const now = '2026-01-01T01:00:00Z';

const publication: Publication = {
  revision: 'main@sha1:0123456789012345678901234567890123456789',
  artifactDigest: `sha256:${'a'.repeat(64)}`,
  built: before,
  size: 1000,
  files: 12,
  counts: {
    skills: 2,
    prompts: 0,
    rules: 0,
    profiles: 0,
    files: 1,
    discovered: 3,
    duplicates: 0,
    rejected: 1,
    problems: 1,
  },
  problems: [
    { row: 'problem', path: 'skills/x/SKILL.md', line: 3, severity: 'error', reason: 'Empty', message: 'empty' },
  ],
};

test('a source tells how many of each kind it serves, and of none but skills that there are none', () => {
  const told = (counts: Partial<Publication['counts']>): string => {
    const none = { skills: 0, files: 0, problems: 0 };
    const published = { ...publication, counts: { ...publication.counts, ...none, ...counts } };
    return conditions(statusOf({ state: 'ready' }, published)).Ready!.message;
  };
  assert.equal(
    told({ skills: 1, prompts: 2, rules: 1, profiles: 3, files: 1 }),
    'Serving 1 skill, 2 prompts, 1 rule, 3 profiles, 1 pack file',
  );
  assert.equal(told({ prompts: 1 }), 'Serving 1 prompt');
  assert.equal(told({ problems: 2 }), 'Serving 0 skills; 2 problems');
});

function conditions(status: Record<string, unknown>): Record<string, Condition> {
  return Object.fromEntries((status.conditions as Condition[]).map((condition) => [condition.type, condition]));
}

const statusOf = (standing: Standing, published?: Publication, old?: unknown): Record<string, unknown> =>
  sourceStatus(old, 3, standing, published, undefined, now);

test('a source that is published and whose last look succeeded is Ready, and nothing else', () => {
  const status = statusOf({ state: 'ready' }, publication);
  const { Ready, ...others } = conditions(status);
  assert.equal(Ready?.status, 'True');
  assert.equal(Ready?.reason, 'Succeeded');
  assert.equal(Ready?.observedGeneration, 3);
  assert.deepEqual(others, {});
  assert.equal(status.observedGeneration, 3);
});

test('a fetch that fails leaves artifact, revision and counts in the status, and says what is still served', () => {
  const status = statusOf({ state: 'failed', reason: 'Unreachable', message: 'git.example.com refused' }, publication);
  const { Ready, Reconciling, Stalled } = conditions(status);
  assert.equal(Ready?.status, 'False');
  assert.equal(Ready?.reason, 'Unreachable');
  assert.match(Ready?.message ?? '', /git\.example\.com refused.*still served/);
  assert.equal(Reconciling?.status, 'True');
  assert.equal(Stalled, undefined);
  assert.deepEqual(status.artifact, {
    digest: publication.artifactDigest,
    lastUpdateTime: before,
    size: 1000,
    files: 12,
  });
});

test('a wrong spec is Stalled and not Reconciling', () => {
  const { Ready, Stalled, Reconciling } = conditions(
    statusOf({ state: 'failed', reason: 'InvalidSpec', message: 'x' }),
  );
  assert.equal(Ready?.status, 'False');
  assert.equal(Stalled?.status, 'True');
  assert.equal(Reconciling, undefined);
});

test('a source that waits for its first look is neither healthy nor failed', () => {
  const { Ready, Reconciling } = conditions(statusOf({ state: 'progressing', message: 'waiting' }));
  assert.equal(Ready?.status, 'Unknown');
  assert.equal(Ready?.reason, 'Progressing');
  assert.equal(Reconciling?.status, 'True');
});

test('suspend leaves Ready as it was', () => {
  const failed = statusOf({ state: 'failed', reason: 'NotFound', message: 'gone' }, publication);
  const suspended = statusOf({ state: 'suspended' }, publication, failed);
  const { Ready, Suspended } = conditions(suspended);
  assert.equal(Ready?.status, 'False');
  assert.equal(Ready?.reason, 'NotFound');
  assert.equal(Suspended?.status, 'True');
});

test('lastTransitionTime moves only when a condition flips', () => {
  const first = sourceStatus(undefined, 1, { state: 'ready' }, publication, undefined, before);
  const again = sourceStatus(first, 2, { state: 'ready' }, publication, undefined, now);
  assert.equal(conditions(again).Ready?.lastTransitionTime, before);
  const failed = sourceStatus(
    again,
    2,
    { state: 'failed', reason: 'TimedOut', message: 'x' },
    publication,
    undefined,
    now,
  );
  assert.equal(conditions(failed).Ready?.lastTransitionTime, now);
});

test('the status shows the first 20 problems, worst first', () => {
  const problem = (number: number, severity: ProblemRow['severity']): ProblemRow => ({
    row: 'problem',
    path: `skills/${String(number).padStart(3, '0')}/SKILL.md`,
    severity,
    reason: 'LenientYaml',
    message: 'x',
  });
  const problems = [
    ...Array.from({ length: 30 }, (_, number) => problem(number, 'warning')),
    problem(99, 'error'),
    problem(98, 'info'),
  ];
  const shown = statusOf({ state: 'ready' }, { ...publication, problems }).problems as ProblemRow[];
  assert.equal(shown.length, 20);
  assert.equal(shown[0]?.path, 'skills/099/SKILL.md');
  assert.ok(shown.slice(1).every(({ severity }) => severity === 'warning'));
});

test('no text of an upstream is so long that the API server refuses the status', () => {
  const long = 'ж😀'.repeat(5_000);
  const row: ProblemRow = { row: 'problem', path: long, severity: 'error', reason: 'Empty', message: long };
  const standing: Standing = { state: 'failed', reason: 'NotFound', message: long };
  const status = statusOf(standing, { ...publication, revision: long, problems: [row] });
  const parsed = skillSourceStatusSchema.safeParse(status);
  assert.ok(parsed.success, parsed.error?.message);
  assert.match(String(status.revision), /^ж😀.*…$/);
  assert.ok(String(conditions(status).Ready?.message).isWellFormed());
});
