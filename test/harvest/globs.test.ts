// Globs: what a pattern means, and that a crafted one costs no more than a plain one.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { compileGlobs } from '../../operator/harvest/globs.ts';
import { processorTime } from '../fixtures/processor-time.ts';

const glob = (pattern: string) => compileGlobs([pattern], 'spec.include.files')[0]!;
const matching = (pattern: string, ...paths: string[]) => paths.filter((path) => glob(pattern).matches(path));

test('a trailing ** is **/*', () => {
  const paths = ['skills', 'skills/a', 'skills/a/b', 'other/a'];
  assert.deepEqual(matching('skills/**', ...paths), ['skills/a', 'skills/a/b']);
  assert.deepEqual(matching('skills/**/*', ...paths), ['skills/a', 'skills/a/b']);
  assert.deepEqual(matching('**', 'a', 'a/b'), ['a', 'a/b']);
});

test('** also stands for no folder at all', () => {
  assert.deepEqual(matching('skills/**/SKILL.md', 'skills/SKILL.md', 'skills/a/b/SKILL.md'), [
    'skills/SKILL.md',
    'skills/a/b/SKILL.md',
  ]);
});

test('a leading ./ and a trailing slash mean nothing', () => {
  assert.deepEqual(matching('./skills/*', 'skills/a'), ['skills/a']);
  assert.deepEqual(matching('skills/a/', 'skills/a'), ['skills/a']);
});

test('a folder named . and a doubled slash mean nothing, nor do they rule a folder out', () => {
  for (const pattern of ['skills/./*/a.md', 'skills//*/a.md', './/./skills/.//*/a.md']) {
    assert.deepEqual(matching(pattern, 'skills/x/a.md'), ['skills/x/a.md'], pattern);
    assert.ok(glob(pattern).mayMatchIn('skills/x'), pattern);
  }
});

test('# and ! are letters, extended globs are not special', () => {
  assert.deepEqual(matching('#a.md', '#a.md', 'a.md'), ['#a.md']);
  assert.deepEqual(matching('!a.md', '!a.md', 'b.md'), ['!a.md']);
  assert.deepEqual(matching('+(a).md', 'a.md', '+(a).md'), ['+(a).md']);
});

test('a pattern matches a name however its accents are composed', () => {
  assert.deepEqual(matching('caf\u00e9/*', 'cafe\u0301/a', 'caf\u00e9/a'), ['cafe\u0301/a', 'caf\u00e9/a']);
});

test('a folder is passed over only where the first parts of a pattern rule it out', () => {
  const may = (pattern: string, ...folders: string[]) => folders.filter((folder) => glob(pattern).mayMatchIn(folder));
  const folders = ['', 'a', 'a/b', 'a/b/c', 'ab', 'b', 'b/a'];
  assert.deepEqual(may('a/b/*.md', ...folders), ['', 'a', 'a/b', 'a/b/c']);
  assert.deepEqual(may('a/**/c.md', ...folders), ['', 'a', 'a/b', 'a/b/c']);
  assert.deepEqual(may('**/c.md', ...folders), folders);
  assert.deepEqual(may('{b,ab}/*', ...folders), ['', 'ab', 'b', 'b/a']);
  assert.deepEqual(may('caf\u00e9/*', 'cafe\u0301', 'caf\u00e9'), ['cafe\u0301', 'caf\u00e9']);
  assert.deepEqual(may('cafe\u0301/*', 'cafe\u0301', 'caf\u00e9'), ['cafe\u0301', 'caf\u00e9']);
});

test('a pattern without a wildcard names a path, and its dot parts', () => {
  assert.ok(glob('SKILL.md').names('SKILL.md'));
  assert.ok(glob('{SKILL.md,skills/*}').names('SKILL.md'));
  assert.ok(!glob('**/SKILL.md').names('SKILL.md'));
  assert.ok(!glob('SKILL.m?').names('SKILL.md'));
  assert.deepEqual([...glob('.x/{.y,z}/.a*/*.md').dotParts].sort(), ['.x', '.y']);
});

test('too many, too long or too manifold globs are refused with the field', () => {
  const refused = (patterns: string[], message: RegExp) =>
    assert.throws(() => compileGlobs(patterns, 'spec.exclude'), { reason: 'InvalidSpec', message });
  refused(
    Array.from({ length: 65 }, () => 'a'),
    /spec\.exclude has more than 64/,
  );
  refused(['a', 'x'.repeat(513)], /spec\.exclude\[1\].*512/);
  refused(['{1..1000000}.md'], /spec\.exclude\[0\].*256/);
  refused(['{a,b}'.repeat(20)], /256/);
  assert.equal(compileGlobs(['x'.repeat(512)], 'spec.exclude').length, 1);
});

test('crafted patterns are matched as fast as others', () => {
  const paths = [`${'a'.repeat(250)}/${'a/'.repeat(60)}c`, 'a'.repeat(1000), `${'b/a/'.repeat(15)}b`];
  const patterns = [
    `${'*a*'.repeat(170)}b`,
    '**/a/'.repeat(100),
    `${'**/*a*/'.repeat(70)}z`,
    `${'*(*(*a))'.repeat(60)}b`,
  ];
  const spent = processorTime();
  for (const pattern of [...patterns, `${'[a-z]*'.repeat(80)}b`, '['.repeat(512), '{a,'.repeat(100)]) {
    for (const path of paths) glob(pattern).matches(path);
  }
  assert.ok(spent() < 2000);
});
