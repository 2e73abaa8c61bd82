// Gateways with tokens, by a whole operator: what is published, what the status says, and that no token is told anywhere.
import assert from 'node:assert/strict';
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { digestOf } from '../../catalogue/digest.ts';
import { eventually } from '../fixtures/eventually.ts';
import { MemoryCluster } from '../fixtures/memory-cluster.ts';
import { OperatorFixture, skillText } from '../fixtures/operator.ts';

const first = 'canary-first-0123456789';
const second = 'canary-second-0123456789';
const unusable = 'canary with blanks';
const digest = (token: string) => digestOf(Buffer.from(token));

const spec = {
  auth: {
    tokens: { secretRef: { name: 'agents-tokens' } },
    scopes: [{ token: 'n8n', library: 'rules', tags: ['ops'] }],
  },
  allowedOrigins: ['https://claude.ai'],
};

function clusterWithGateway(secret?: Record<string, string>): MemoryCluster {
  const cluster = new MemoryCluster();
  cluster.configMap('rules', { 'skills__style__SKILL.md': skillText('style') });
  cluster.source('rules', { spec: { url: 'configmap://rules' } });
  if (secret) cluster.secrets.set('agents-tokens', secret);
  cluster.gateway('agents', { spec });
  return cluster;
}

const ready = (operator: OperatorFixture, wanted: string) =>
  eventually(
    `Ready=${wanted}`,
    () => operator.cluster.condition('gateways', 'agents', 'Ready'),
    (is) => is === wanted,
    40,
  );

test('digests of the tokens, ceilings by client and origins are published', async () => {
  await using operator = await OperatorFixture.start({}, clusterWithGateway({ n8n: first }));
  await ready(operator, 'True/Succeeded');
  const { auth, allowedOrigins } = await operator.index();
  assert.deepEqual(auth, {
    tokens: [{ client: 'n8n', digest: digest(first) }],
    scopes: [{ client: 'n8n', library: 'rules', tags: ['ops'] }],
  });
  assert.deepEqual(allowedOrigins, ['https://claude.ai']);
});

test('from the first index.json on nobody gets in while there is no Secret', async () => {
  const cluster = clusterWithGateway();
  // No source is ready meanwhile, so the first index.json stays the only one.
  cluster.gateway('agents', { spec: { ...spec, sources: { names: ['later'] } } });
  await using operator = await OperatorFixture.start({}, cluster);
  const { auth, generation } = await eventually('an index', () => operator.index());
  assert.deepEqual([auth?.tokens, generation], [[], 1]);
  await ready(operator, 'False/SecretNotFound');
  assert.equal(cluster.condition('gateways', 'agents', 'Stalled'), undefined);
  assert.match(cluster.status('gateways', 'agents').conditions[0].message, /Secret "agents-tokens" is not there/);

  const told = () =>
    cluster.events.filter(({ action }) => action === 'Serve').map(({ type, reason }) => `${type} ${reason}`);
  await eventually('a Warning', told, (events) => events.length > 0);
  cluster.secrets.set('agents-tokens', { n8n: first });
  cluster.gateway('agents', { spec });
  await ready(operator, 'True/Succeeded');
  await eventually('that it is well again', told, (events) => events.length > 1);
  assert.deepEqual(told(), ['Warning SecretNotFound', 'Normal Succeeded']);
});

test('a Secret that changes is noticed within 30 s, whatever else is quiet; no token is told anywhere', async () => {
  const cluster = clusterWithGateway({ n8n: first });
  const read = cluster.readSecret.bind(cluster);
  let asked = performance.now();
  cluster.readSecret = (namespace, name) => {
    asked = performance.now();
    return read(namespace, name);
  };
  await using operator = await OperatorFixture.start({}, cluster);
  const clients = () => operator.index().then(({ auth }) => auth?.tokens);
  await ready(operator, 'True/Succeeded');
  await eventually('nobody asks for the Secret any more', () => performance.now() - asked > 300);
  // One that is refused is named in the status, which is looked at below.
  cluster.secrets.set('agents-tokens', { n8n: second, broken: unusable });
  await eventually('the rotated token', clients, (tokens) => tokens?.[0]?.digest === digest(second), 30);
  await ready(operator, 'False/SecretNotFound');
  assert.match(cluster.status('gateways', 'agents').conditions[0].message, /the value of broken is no token/);
  const statuses = JSON.stringify([cluster.status('gateways', 'agents'), cluster.status('sources', 'rules')]);

  const volume = await readdir(operator.volume, { recursive: true, withFileTypes: true });
  const files = await Promise.all(
    volume.filter((entry) => entry.isFile()).map(({ parentPath, name }) => readFile(join(parentPath, name), 'latin1')),
  );
  assert.ok(files.some((text) => text.includes(digest(second))));
  const said = [operator.log, await operator.metrics(), statuses, JSON.stringify(cluster.events), ...files].join('\n');
  assert.match(said, /tokens not usable/);
  assert.doesNotMatch(said, /canary/);
});
