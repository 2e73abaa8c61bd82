// One look: what goes wrong while it reads is a fault with a reason, whoever finds it.
import assert from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { Volume } from '../../operator/publish/volume.ts';
import { type LookEdges, type LookRequest, look } from '../../operator/reconcile/look.ts';
import { parseSkillSource } from '../../operator/resources/parse.ts';
import type { Source } from '../../operator/source/source.ts';

test('a disk that is full while content is read into the scratch folder is StorageFailed', async (t) => {
  const folder = await mkdtemp(join(tmpdir(), 'lyceum-look-test-'));
  t.after(() => rm(folder, { recursive: true, force: true }));
  const volume = Volume.at(folder);
  let closed = false;
  const source: Source = {
    probe: async () => 'main@sha1:1',
    open: () => Promise.reject(Object.assign(new Error('ENOSPC: no space left on device, write'), { code: 'ENOSPC' })),
    close: async () => {
      closed = true;
    },
  };
  const metadata = { namespace: 'default', name: 'pack' };
  const parsed = parseSkillSource({ metadata, spec: { url: 'github://obra/superpowers' } });
  assert.ok(parsed.ok);
  const settings = { library: 'pack' };
  const request = { object: { metadata }, spec: parsed.spec, settings, record: undefined, secret: new Map() };
  const edges = { volume, backends: { open: async () => source }, now: Date.now };
  await assert.rejects(look(request as unknown as LookRequest, edges as unknown as LookEdges), {
    name: 'SourceFault',
    reason: 'StorageFailed',
    message: 'cannot use tmp (ENOSPC): the volume is full: free space on it or enlarge it',
  });
  assert.ok(closed);
});
