// Folders with a great many files: they take their time, and hold nothing else up meanwhile.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Slices } from '../../catalogue/slices.ts';
import type { ListedFile } from '../../operator/source/folder/list.ts';
import { revisionOf } from '../../operator/source/folder/revision.ts';
import { tokensOf } from '../../operator/source/folder/tokens.ts';
import { heldUp } from '../fixtures/held-up.ts';

const files = Array.from({ length: 150_000 }, (_, at): ListedFile => {
  const path = `skills/skill-${(at * 7919) % 150_000}/file-${at}.md`;
  const stamp = { ino: BigInt(at), size: 1n, mtimeNs: 1n, ctimeNs: 1n };
  return { path, file: `/mnt/${path}`, stamp, link: undefined, mounted: false };
});

test('150,000 files get their tokens and their revision, and nothing else is held up', async () => {
  const memory = { load: async () => undefined, save: async () => {} };
  const read = () => assert.fail('nothing is read');
  let tokens = new Map<string, string>();
  const naming = await heldUp(async () => {
    tokens = await tokensOf(files, memory, read, Date.now(), new Slices());
  });
  assert.equal(tokens.size, files.length);
  assert.ok(naming < 100, `held up for ${naming} ms`);
  const revising = await heldUp(() => revisionOf(files, tokens, new Slices()));
  assert.ok(revising < 100, `held up for ${revising} ms`);
});

test('the revision is the same in whatever order files are listed', async () => {
  const some = files.slice(0, 2000);
  const tokens = new Map(some.map(({ path }) => [path, `token of ${path}`]));
  const revision = await revisionOf(some, tokens, new Slices());
  assert.match(revision, /^sha256:[0-9a-f]{64}$/);
  assert.equal(await revisionOf(some.toReversed(), tokens, new Slices()), revision);
  assert.notEqual(await revisionOf(some.slice(1), tokens, new Slices()), revision);
});
