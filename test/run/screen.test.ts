// What `lyceum run` tells people of sources and gateways.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { complaintsOf } from '../../cli/run/screen.ts';
import type { KubernetesObject } from '../../operator/kubernetes/cluster.ts';

test('a problem of a file is told on one line, which no name in it can make a terminal obey or turn round', () => {
  const path = 'skills/a\x1b[2J\n\u202e/SKILL.md';
  const problems = [{ path, line: 3, severity: 'error', reason: 'Empty', message: 'write it.' }];
  const source = { metadata: { name: 'pack' }, status: { problems, counts: { problems: 1 } } };
  const [told] = complaintsOf([source as unknown as KubernetesObject], []);
  assert.equal(told, 'SkillSource pack: skills/a\\u001b[2J\\u000a\\u202e/SKILL.md:3: error Empty: write it.');
});
