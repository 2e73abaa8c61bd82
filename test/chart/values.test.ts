// What may be set: the page says it, the schema refuses the rest in words, the defaults are what is written.
import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { parse } from 'yaml';
import packageJson from '../../package.json' with { type: 'json' };
import { helms, refusal, rendered, type Values } from './helm.ts';
import { values as allValues, chart, rowOf } from './values.ts';

const page = await readFile(join(chart, 'README.md'), 'utf8');

test('the page of the chart has every value with its default and meaning', async () => {
  const rows = page.split('\n').filter((line) => line.startsWith('| `'));
  const expected = await allValues();
  for (const { path, description } of expected) assert.ok(description, `${path} has no description in the schema`);
  assert.deepEqual(rows, expected.map(rowOf));
});

test('the chart is for the version of Lyceum that it stands beside', async () => {
  const { version, appVersion } = parse(await readFile(join(chart, 'Chart.yaml'), 'utf8'));
  assert.deepEqual({ version, appVersion }, { version: packageJson.version, appVersion: packageJson.version });
});

const refused: { what: string; values: Values; says: RegExp }[] = [
  { what: 'a value that there is not', values: { operators: 2 }, says: /'operators' not allowed/ },
  {
    what: 'all namespaces and some of them',
    values: { clusterWide: true, namespaces: ['team-a'] },
    says: /clusterWide watches every namespace: leave namespaces empty, or clusterWide false/,
  },
  { what: 'no operator', values: { replicas: 0 }, says: /\/replicas'/ },
  {
    what: 'several operators with a sidecar',
    values: { replicas: 2, sidecar: { enabled: true, gateway: 'agents' } },
    says: /replicas is more than 1, but with sidecar.enabled .*: set replicas to 1, or sidecar.enabled to false/,
  },
  { what: 'a misspelt value', values: { image: { pullpolicy: 'Never' } }, says: /\/image'.*'pullpolicy' not allowed/ },
  {
    what: 'an access mode that there is not',
    values: { volume: { accessMode: 'RWX' } },
    says: /\/volume\/accessMode'.*ReadWriteOnce.*ReadWriteMany/,
  },
  { what: 'a size that is none', values: { volume: { size: 'large' } }, says: /\/volume\/size/ },
  { what: 'a digest that is none', values: { image: { digest: 'latest' } }, says: /\/image\/digest/ },
  {
    what: 'a memory limit that is none',
    values: { resources: { limits: { memory: 'lots' } } },
    says: /\/resources\/limits\/memory/,
  },
  { what: 'a namespace that is none', values: { namespaces: ['Team_A'] }, says: /\/namespaces\/0/ },
  {
    what: 'a folder of the node as file root',
    values: { fileRoot: { hostPath: { path: '/' } } },
    says: /\/fileRoot'.*'hostPath' not allowed/,
  },
  {
    what: 'a file root that "restricted" does not admit',
    values: { fileRoot: { nfs: { server: 'files.example', path: '/' } } },
    says: /\/fileRoot'.*'nfs' not allowed/,
  },
  {
    what: 'a bound that the operator does not read',
    values: { ceilings: { totalSize: '1.5Gi' } },
    says: /\/ceilings\/totalSize/,
  },
  { what: 'a name that no object can have', values: { fullnameOverride: 'My_Lyceum' }, says: /\/fullnameOverride/ },
  { what: 'no size', values: { volume: { size: null } }, says: /\/volume'.*missing property 'size'/ },
  { what: 'no pull policy', values: { image: { pullPolicy: null } }, says: /missing property 'pullPolicy'/ },
  { what: 'no bound on files', values: { ceilings: { files: null } }, says: /missing property 'files'/ },
  { what: 'no word on a sidecar', values: { sidecar: null }, says: /missing property 'sidecar'/ },
  {
    what: "a label in the place of the chart's own",
    values: { podLabels: { 'app.kubernetes.io/name': 'other' } },
    says: /\/podLabels/,
  },
  { what: 'no fetch at a time', values: { concurrentFetches: 0 }, says: /\/concurrentFetches/ },
  {
    what: 'a sidecar without a gateway',
    values: { sidecar: { enabled: true } },
    says: /sidecar\.gateway is missing: name the SkillGateway/,
  },
  {
    what: 'a sidecar whose gateway the operator would not see',
    values: { sidecar: { enabled: true, gateway: 'agents' }, namespaces: ['other'] },
    says: /add skills to namespaces/,
  },
  {
    what: 'a way in for webhooks that nobody takes',
    values: { webhooks: { ingress: { enabled: true, host: 'hooks.example.com' } } },
    says: /webhooks\.ingress\.enabled needs webhooks\.enabled/,
  },
  {
    what: 'a way in for webhooks without a host',
    values: { webhooks: { enabled: true, ingress: { enabled: true } } },
    says: /webhooks\.ingress\.host is missing: name the host/,
  },
  {
    what: 'two places for certificates',
    values: { extraCa: { configMap: 'a', secret: 'b' } },
    says: /extraCa: name a configMap or a secret, not both/,
  },
];

for (const helm of await helms()) {
  describe(helm.name, () => {
    for (const { what, values, says } of refused)
      test(`refuses ${what}, and says so`, async () => assert.match(await refusal(helm, values), says));

    test('takes null where nothing is needed', async () => {
      const values = {
        resources: null,
        proxy: null,
        image: { tag: null },
        podLabels: null,
        webhooks: null,
        namespaces: null,
      };
      await rendered(helm, { values });
    });

    test('takes a chart around this one', async () => {
      await rendered(helm, { values: { global: { team: 'platform' } } });
    });
  });
}
