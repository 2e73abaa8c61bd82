// A pack in versions: every file but one says which version it is of, so that a mix of two would show.
import assert from 'node:assert/strict';
import type { Served, Skills } from './support.ts';

export const versionOf = (version: number): Skills => ({
  first: { 'SKILL.md': `first v${version}\n`, 'notes/a.md': `a v${version}\n` },
  second: { 'SKILL.md': `second v${version}\n`, 'always.bin': 'the same in every version\n' },
});

/** The version that was served, the same in the index, the catalogue and every file; fails on a mix. */
export function versionServed({ index, catalogues, files }: Served): number {
  const [, version] = /^v(\d+)$/.exec(index.sources[0]?.revision ?? '') ?? [];
  assert.ok(version, 'the index names a revision');
  assert.equal(catalogues[0]?.header.revision, `v${version}`);
  const expected = Object.entries(versionOf(Number(version))).flatMap(([skill, contents]) =>
    Object.entries(contents).map(([path, content]) => [`pack/${skill}/${path}`, content]),
  );
  assert.deepEqual(
    Object.fromEntries([...files].map(([path, bytes]) => [path, bytes.toString()])),
    Object.fromEntries(expected),
  );
  return Number(version);
}
