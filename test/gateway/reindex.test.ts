// An answer to whoever asks for a look comes in time, though a source or the volume take theirs.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type ReindexEdges, reindex } from '../../operator/gateway/reindex.ts';
import { MemoryCluster } from '../fixtures/memory-cluster.ts';

const never = new Promise<never>(() => undefined);
const stop = new AbortController().signal;
const short = { looks: 50, publication: 50 };

function edgesOf(more: Partial<ReindexEdges>): ReindexEdges {
  const cluster = new MemoryCluster();
  for (const name of ['fast', 'slow']) cluster.source(name, { spec: { url: `configmap://${name}` } });
  cluster.gateway('agents');
  return { cluster, look: async () => true, published: async () => undefined, generation: () => 7, stop, ...more };
}

test('a source that takes its time is told as unfinished, the others as rebuilt', async () => {
  const edges = edgesOf({ look: (source) => (source === 'default/slow' ? never : Promise.resolve(true)) });
  const expected = { rebuilt: ['fast'], unfinished: ['slow'], generation: 7 };
  assert.deepEqual(await reindex('default/agents', edges, short), expected);
});

test('a gateway whose catalogue cannot be published in time is answered with what is published', async () => {
  const expected = { rebuilt: ['fast', 'slow'], unfinished: [], generation: 7 };
  assert.deepEqual(await reindex('default/agents', edgesOf({ published: () => never }), short), expected);
  const none = edgesOf({ published: () => never, generation: () => undefined });
  assert.deepEqual(await reindex('default/agents', none, short), { rebuilt: ['fast', 'slow'], unfinished: [] });
});

test('the catalogue that is waited for is the one that tells of the looks', async () => {
  const order: string[] = [];
  const edges = edgesOf({
    look: async (source) => {
      await new Promise(setImmediate);
      order.push(source);
      return true;
    },
    published: async () => void order.push('published'),
  });
  await reindex('default/agents', edges);
  assert.deepEqual(order, ['default/fast', 'default/slow', 'published']);
});
