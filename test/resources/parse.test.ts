// What the operator, `lyceum run` and `lyceum check` make of an object, beyond the table that they share with the server.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { parseSkillGateway, parseSkillSource } from '../../operator/resources/parse.ts';

const metadata = { name: 'sample' };

test('a field of a later version is dropped, not refused', () => {
  const parsed = parseSkillSource({
    metadata,
    spec: { url: 'github://a/b', replicas: 2, include: { songs: ['x'] } },
  });
  assert.ok(parsed.ok);
  assert.equal('replicas' in parsed.spec, false);
  assert.deepEqual(parsed.spec.include, {});
});

test('a fault of the schema says what is needed, and repeats nothing', () => {
  const spec = {
    tags: 'hunter2',
    suspend: 'hunter2',
    limits: { files: 0, fileSize: 5 },
    library: 'hunter2'.repeat(20),
  };
  const parsed = parseSkillSource({ metadata, spec });
  assert.ok(!parsed.ok);
  assert.deepEqual(parsed.message.split('; '), [
    'spec.url: required',
    'spec.library: at most 64 characters',
    'spec.tags: must be an array',
    'spec.limits.files: at least 1',
    'spec.limits.fileSize: must be a string',
    'and 1 more',
  ]);
});

test('a choice that does not exist is answered with those that do', () => {
  const matchExpressions = [{ key: 'a', operator: 'Like' }];
  const parsed = parseSkillGateway({ metadata, spec: { sources: { selector: { matchExpressions } } } });
  assert.ok(!parsed.ok);
  assert.equal(
    parsed.message,
    'spec.sources.selector.matchExpressions[0].operator: must be one of In, NotIn, Exists, DoesNotExist',
  );
});

test('thousands of faults make a short message', () => {
  const tags = Array(64).fill('a,b');
  const exclude = Array(64).fill('../x');
  const parsed = parseSkillSource({ metadata, spec: { url: 'github://a/b', tags, exclude } });
  assert.ok(!parsed.ok);
  assert.ok(parsed.message.length < 1024);
  assert.match(parsed.message, /; and 123 more$/);
});

test('what is no object at all is refused', () => {
  for (const spec of ['text', 5, [], true]) {
    for (const parsed of [parseSkillSource({ metadata, spec }), parseSkillGateway({ metadata, spec })]) {
      assert.deepEqual(parsed, { ok: false, message: 'spec: must be an object' });
    }
  }
});
