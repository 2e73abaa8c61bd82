// Which sources are read live, and what of them goes into index.json.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { assemble } from '../../operator/gateway/assembly.ts';
import { liveSecretsOf } from '../../operator/gateway/live.ts';
import type { KubernetesObject } from '../../operator/kubernetes/cluster.ts';
import { settingsOf, viewOf } from '../../operator/reconcile/source-state.ts';
import { parseSkillGateway, parseSkillSource } from '../../operator/resources/parse.ts';

const url = 'webdav+https://cloud.example.com/dav/skills';
const limits = { files: 10, fileSize: 1000, totalSize: 5000 };

const sourceOf = (name: string, spec: object): KubernetesObject => ({
  apiVersion: 'lyceum.dev/v1alpha1',
  kind: 'SkillSource',
  metadata: {
    namespace: 'flow',
    name,
    uid: name,
    generation: 1,
    resourceVersion: '1',
    creationTimestamp: '2026-01-01T00:00:00Z',
    labels: {},
    annotations: {},
  },
  spec: { url, secretRef: { name: 'cloud' }, subdirectory: 'team', ...spec },
});

const live = sourceOf('live', { cache: 'Live' });
const snapshot = sourceOf('snapshot', { cache: 'Snapshot' });
const plain = sourceOf('plain', {});
const suspended = sourceOf('suspended', { cache: 'Live', suspend: true });
const invalid = sourceOf('invalid', { cache: 'Live', refresh: 'often' });

test('a source is read live where its spec says so, is valid and not suspended', () => {
  assert.deepEqual(liveSecretsOf([plain, snapshot, live, suspended, invalid]), [{ source: 'live', secret: 'cloud' }]);
});

test('index.json has where a Live source is and how large a file may be, and neither Secret nor key', () => {
  const views = [live, snapshot, suspended].map((object) => {
    const parsed = parseSkillSource(object);
    assert(parsed.ok);
    const settings = settingsOf(object, parsed.spec, limits);
    return viewOf(object, {
      uid: 'u',
      looked: false,
      triggered: false,
      failures: 0,
      handledRequest: undefined,
      settings,
    });
  });
  const gateway = parseSkillGateway({ metadata: { name: 'agents' }, spec: {} });
  assert(gateway.ok);
  const { content } = assemble(gateway.spec, views);
  const rows = Object.fromEntries(content.sources.map((row) => [row.name, row.live]));
  assert.deepEqual(rows, {
    live: { url, subdirectory: 'team', fileSize: 1000 },
    snapshot: undefined,
    suspended: undefined,
  });
  assert.doesNotMatch(JSON.stringify(content), /"cloud"/);
});
