import assert from 'node:assert/strict';
import { test } from 'node:test';
import { pino } from 'pino';
import type { KubernetesObject } from '../../operator/kubernetes/cluster.ts';
import { ObjectStore } from '../../operator/kubernetes/object-store.ts';
import { skillSources, trim } from '../../operator/kubernetes/watched-resource.ts';
import { skillSource } from './fake-api-server.ts';

const object = (namespace: string, name: string): KubernetesObject => {
  const raw = skillSource(name, '1') as { metadata: { namespace: string } };
  raw.metadata.namespace = namespace;
  return trim(skillSources, raw);
};

test('a store is synced when the list of its last namespace has come, not before', async () => {
  const store = new ObjectStore(['flow', 'team'], pino({ level: 'silent' }));
  let told = false;
  store.whenSynced.then(() => {
    told = true;
  });
  store.replace('flow', [object('flow', 'a')]);
  store.replace('flow', [object('flow', 'a')]);
  await new Promise(setImmediate);
  assert.deepEqual([store.synced, told], [false, false]);
  store.replace('team', []);
  await new Promise(setImmediate);
  assert.deepEqual([store.synced, told], [true, true]);
});

test('a list of one namespace leaves the others alone', () => {
  const store = new ObjectStore(['flow', 'team'], pino({ level: 'silent' }));
  store.replace('flow', [object('flow', 'a')]);
  store.replace('team', [object('team', 'a')]);
  const told: string[] = [];
  store.onChange((key) => told.push(key));
  store.replace('flow', []);
  assert.deepEqual(told, ['flow/a']);
  assert.deepEqual([store.get('flow/a'), store.get('team/a')?.metadata.name], [undefined, 'a']);
  assert.equal(store.list().length, 1);
});
