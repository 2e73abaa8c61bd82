// In which order versions stand.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { compareVersions, isSemver } from '../../catalogue/versions.ts';

const shuffled = (versions: readonly string[]): string[][] => [
  versions.toReversed(),
  versions.toSorted(),
  [...versions],
];

test('versions stand by the precedence of SemVer 2.0, from old to new', () => {
  const ordered = [
    '0.9.9',
    '1.0.0-alpha',
    '1.0.0-alpha.1',
    '1.0.0-alpha.beta',
    '1.0.0-beta',
    '1.0.0-beta.2',
    '1.0.0-beta.11',
    '1.0.0-rc.1',
    '1.0.0',
    '1.2.0',
    '1.10.0',
    '2.0.0',
    '10.0.0',
  ];
  for (const versions of shuffled(ordered)) assert.deepEqual(versions.sort(compareVersions), ordered);
});

test('versions that differ in their build alone stand by code point', () => {
  const ordered = ['1.0.0', '1.0.0+a', '1.0.0+b', '1.0.1'];
  for (const versions of shuffled(ordered)) assert.deepEqual(versions.sort(compareVersions), ordered);
});

test('what is no SemVer stands behind all that are, by name', () => {
  const ordered = ['0.1.0', '99.0.0', '', '01.0.0', '1', '1.0', '1.0.0 ', 'V3.0.0', 'latest', 'v2.0.0', 'ß'];
  for (const versions of shuffled(ordered)) assert.deepEqual(versions.sort(compareVersions), ordered);
});

test('SemVer is meant strictly', () => {
  for (const version of ['1.0.0', '0.0.0', '1.0.0-a.b+c', '1.2.3----R.4+m']) assert.ok(isSemver(version), version);
  const others = ['v1.0.0', '=1.0.0', ' 1.0.0', '1.0.0\n', '1.0', '1.0.0.0', '1.0.0-01', '01.0.0', '١.0.0', 'latest'];
  for (const version of [...others, `1.0.0-${'a'.repeat(300)}`]) assert.ok(!isSemver(version), version);
});
