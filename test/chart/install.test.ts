// What the chart installs, at a real API server: taken under Pod Security "restricted", upgraded, and what stays when it goes.
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { promisify } from 'node:util';
import { parseAllDocuments } from 'yaml';
import { type ApiServer, apiServer } from '../cluster/api-server.ts';
import { eventually } from '../fixtures/eventually.ts';
import { type Helm, helms, objects, only, type Rendered, rendered } from './helm.ts';
import { chart } from './values.ts';

const run = promisify(execFile);
const sidecar = { sidecar: { enabled: true, gateway: 'agents' } };
const examples = join(import.meta.dirname, '../../examples/cluster');

let server: ApiServer;
let home: string;
before(async () => {
  server = await apiServer();
  home = await mkdtemp(join(tmpdir(), 'lyceum-helm-'));
});
after(() => rm(home, { recursive: true, force: true }));

/** A namespace that refuses pods which are not "restricted", and warns of what would make such pods. */
async function restricted(): Promise<string> {
  const namespace = await server.namespace();
  const levels = ['enforce', 'warn'].map((mode) => `pod-security.kubernetes.io/${mode}=restricted`);
  await server.kubectl(['label', 'namespace', namespace, ...levels]);
  return namespace;
}

for (const helm of await helms()) {
  describe(helm.name, () => {
    for (const [what, values] of [
      ['default values', {}],
      ['a server beside the operator', sidecar],
      ['a volume for many nodes', { volume: { accessMode: 'ReadWriteMany' } }],
    ] as const) {
      test(`the API server takes every object, without a warning: ${what}`, async () => {
        const namespace = await restricted();
        const manifests = await rendered(helm, { namespace, values });
        const apply = ['apply', '--server-side', '--force-conflicts', '--dry-run=server', '--validate=strict'];
        const { code, stderr } = await server.tryKubectl([...apply, '-n', namespace, '-f', '-'], manifests);
        assert.deepEqual({ code, stderr }, { code: 0, stderr: '' });

        // The same pod as Kubernetes makes it from the Deployment, which Pod Security judges.
        const all = await objects(helm, { namespace, values });
        await server.kubectl(['apply', '-f', '-'], JSON.stringify(only(all, 'ServiceAccount')));
        const { metadata, spec } = only(all, 'Deployment').spec.template;
        const pod = { apiVersion: 'v1', kind: 'Pod', metadata: { ...metadata, name: 'operator' }, spec };
        await server.kubectl(['create', '--dry-run=server', '-n', namespace, '-f', '-'], JSON.stringify(pod));
      });
    }

    test('installed, upgraded, gone, and installed again on the volume that stayed', () => story(helm));
  });
}

async function story(helm: Helm): Promise<void> {
  const namespace = await restricted();
  const environment = { ...process.env, HOME: home, KUBECONFIG: server.kubeconfig };
  const release = async (command: string, ...args: string[]): Promise<string> => {
    const { stdout } = await run(helm.program, [command, 'lyceum', ...args, '--namespace', namespace], {
      env: environment,
    });
    return stdout;
  };
  // The definitions are there already, and not of a release.
  const set = ['--set', 'crds.enabled=false'];
  const get = async (...args: string[]): Promise<Rendered> =>
    JSON.parse(await server.kubectl(['get', ...args, '-n', namespace, '-o', 'json']));
  const arguments_ = async (): Promise<string[]> =>
    (await get('deployment', 'lyceum')).spec.template.spec.containers[0].args;

  const notes = await release('install', chart, ...set);
  const next = /^kubectl apply .*<<'END'\n([\s\S]*?)^END$/m.exec(notes)?.[1];
  assert.ok(next, notes);
  assert.deepEqual(
    parseAllDocuments(next).map((document) => document.toJS().kind),
    ['SkillSource', 'SkillGateway'],
  );
  await server.kubectl(['apply', '-n', namespace, '-f', '-'], next);
  for (const file of ['skills.yaml', 'github.yaml'])
    await server.kubectl(['apply', '-n', namespace, '-f', '-'], await readFile(join(examples, file), 'utf8'));
  assert.ok((await arguments_()).includes('--log-level=info'));

  const certificate = async (): Promise<unknown> => (await get('secret', 'lyceum-operator-tls')).data;
  const before = await certificate();
  await release('upgrade', chart, ...set, '--set', 'logLevel=debug');
  assert.deepEqual(await certificate(), before, 'an upgrade keeps the certificate');
  assert.ok((await arguments_()).includes('--log-level=debug'));

  await assert.rejects(
    release('upgrade', chart, ...set, '--set', 'volume.accessMode=ReadWriteMany'),
    /PersistentVolumeClaim lyceum is there and has ReadWriteOnce, which cannot be changed: set volume.accessMode to that/,
  );
  assert.ok(
    (await arguments_()).some((argument) => argument.startsWith('--keep-together=')),
    'an upgrade that is refused changes nothing',
  );

  const claim = (await get('persistentvolumeclaim', 'lyceum')).metadata as Rendered['metadata'] & { uid: string };
  await release('uninstall');
  await eventually(
    'what stays',
    async () => {
      const kinds =
        'deployments,replicasets,pods,services,secrets,serviceaccounts,roles,rolebindings,persistentvolumeclaims,skillsources,skillgateways';
      const { items } = await get(kinds);
      return items.map(({ kind, metadata }: Rendered) => `${kind} ${metadata.name}`).sort();
    },
    (left: string[]) => left.length <= 5,
  ).then((left) =>
    assert.deepEqual(left, [
      'PersistentVolumeClaim lyceum',
      'ServiceAccount default',
      'SkillGateway agents',
      'SkillSource house-rules',
      'SkillSource superpowers',
    ]),
  );

  await release('install', chart, ...set);
  const again = (await get('persistentvolumeclaim', 'lyceum')).metadata as typeof claim;
  assert.equal(again.uid, claim.uid);
  await release('uninstall');
}
