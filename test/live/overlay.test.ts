// What lies over a catalogue while it is being laid there: one moment's files, whatever comes meanwhile.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { PackFileRow, SourceCatalogue } from '../../catalogue/source-catalogue.ts';
import { Overlay } from '../../server/live/overlay.ts';

const row = { row: 'file', path: 'a.md', digest: 'sha256:0', size: 1, text: true } as PackFileRow;
const late = { ...row, path: 'b.md' };
const catalogue = { artifacts: [], files: [row, late] } as unknown as SourceCatalogue;

test('newer files that come while rows are made are told of by none, and those that go are still read', async () => {
  const overlay = new Overlay();
  overlay.put('notes', row, 'a.md', 'sha256:1', Buffer.from('one'));
  const layer = overlay.layer();
  overlay.put('notes', row, 'a.md', 'sha256:2', Buffer.from('two'));
  overlay.put('notes', late, 'b.md', 'sha256:3', Buffer.from('three'));
  const { files } = await layer.over(catalogue, new WeakMap());
  assert.deepEqual(
    files.map(({ digest }) => digest),
    ['sha256:1', 'sha256:0'],
  );
  const reader = layer.reader({ read: () => Promise.reject(new Error('not on the volume')) });
  assert.equal((await reader.read('sha256:1')).toString(), 'one');
  assert.deepEqual([...layer.sources], ['notes']);
});
