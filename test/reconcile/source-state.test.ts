// What is remembered of a source, and what of it two operators that meet on one object agree on.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { ArtifactRow } from '../../catalogue/source-catalogue.ts';
import type { RecordHead } from '../../operator/publish/record.ts';
import { builtOf, rememberedBy, specDigest, summaryOf } from '../../operator/reconcile/source-state.ts';
import type { SkillSourceSpec } from '../../operator/resources/skill-source.ts';

const record = { artifactDigest: 'sha256:aa', built: '2026-11-30T12:00:05Z' } as RecordHead;

test('two operators that published one content agree on when, so that neither overwrites the other for ever', () => {
  const artifact = { digest: 'sha256:aa', lastUpdateTime: '2026-11-30T12:00:04Z' };
  assert.equal(builtOf({ artifact }, record), '2026-11-30T12:00:04Z');
});

test('the time of other content, or none, is no time of this one', () => {
  assert.equal(builtOf({ artifact: { digest: 'sha256:bb', lastUpdateTime: 'then' } }, record), record.built);
  assert.equal(builtOf({ artifact: { digest: 'sha256:aa' } }, record), record.built);
  assert.equal(builtOf(undefined, record), record.built);
});

test('a restart remembers the fault, the generation it was met with, and the request that was handled', () => {
  const ready = { type: 'Ready', status: 'False', reason: 'NotFound', message: 'no such ref', observedGeneration: 3 };
  assert.deepEqual(rememberedBy({ conditions: [ready], lastHandledReconcileAt: 'noon' }), {
    handledRequest: 'noon',
    fault: { reason: 'NotFound', message: 'no such ref' },
    lookedGeneration: 3,
  });
  assert.deepEqual(rememberedBy({ conditions: [{ ...ready, reason: 'constructor' }] }), { handledRequest: undefined });
});

test('all versions of an artifact have one address, which is qualified by the folder that they stand in', () => {
  const row = (kind: string, address: string, version: string, versionsIn?: string) =>
    ({ kind, address, name: address, version, folder: `${kind}s/${address}/${version}`, versionsIn }) as ArtifactRow;
  const artifacts = [
    row('skill', 'a', '2.0.0', 'skills/a'),
    row('skill', 'a', '1.0.0', 'skills/a'),
    row('skill', 'b', '1.0.0'),
    row('rule', 'b', '1.0.0', 'rules/b'),
  ];
  assert.deepEqual(summaryOf({ artifacts, files: [], problems: [] }).addresses.artifacts, [
    { kind: 'skill', address: 'a', name: 'a', folder: 'skills/a' },
    { kind: 'skill', address: 'b', name: 'b', folder: 'skills/b/1.0.0' },
    { kind: 'rule', address: 'b', name: 'b', folder: 'rules/b' },
  ]);
});

test('what decides what is harvested is told apart, the rules of the harvest too, so that an upgrade harvests anew', () => {
  const spec = {
    url: 'github://a/b',
    subdirectory: '',
    include: {},
    exclude: [],
    tags: ['a'],
  } as unknown as SkillSourceSpec;
  const limits = { files: 1, fileSize: 2, totalSize: 3 };
  const digest = specDigest(spec, 'b', limits, 1);
  assert.equal(specDigest({ ...spec, tags: ['b'], refresh: '5m' }, 'b', limits, 1), digest);
  assert.notEqual(specDigest(spec, 'b', limits, 2), digest);
  assert.notEqual(specDigest({ ...spec, exclude: ['x'] }, 'b', limits, 1), digest);
});
