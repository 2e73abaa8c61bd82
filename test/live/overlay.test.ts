// What lies over a catalogue while it is being laid there: one moment's files, whatever comes meanwhile.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { ArtifactRow, PackFileRow, SourceCatalogue } from '../../catalogue/source-catalogue.ts';
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

test('a skill whose files grow beyond 16 MiB is told of no longer, until they are smaller again', async () => {
  const file = (path: string, size: number) => ({ path, digest: `sha256:${path}`, size, text: true });
  const files = [file('SKILL.md', 100), file('a.bin', 8 * 2 ** 20), file('b.bin', 4 * 2 ** 20)];
  const skill = { row: 'artifact', kind: 'skill', name: 'loki', main: 'SKILL.md', files, advertised: true };
  const row = skill as unknown as ArtifactRow;
  const overlay = new Overlay();
  const advertised = async (): Promise<boolean> => {
    const whole = { artifacts: [row], files: [] } as unknown as SourceCatalogue;
    return (await overlay.layer().over(whole, new WeakMap())).artifacts[0]!.advertised;
  };
  overlay.put('notes', row, 'b.bin', 'sha256:1', Buffer.alloc(8 * 2 ** 20));
  assert.equal(await advertised(), false);
  overlay.put('notes', row, 'b.bin', 'sha256:2', Buffer.alloc(5 * 2 ** 20));
  assert.equal(await advertised(), true);
});
