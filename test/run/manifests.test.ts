// A folder of manifests in the API server's place: the same objects, refusals and statuses.
import assert from 'node:assert/strict';
import { mkdir, mkdtemp, rename, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, test } from 'node:test';
import { ManifestCluster } from '../../cli/run/manifest-cluster.ts';

let folder: string;
let complaints: string[];
let cluster: ManifestCluster;

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'lyceum-manifests-'));
  complaints = [];
  cluster = new ManifestCluster({
    folder,
    environment: { TOKEN: 'from-the-environment' },
    complain: (message) => complaints.push(message),
    event: () => {},
  });
});
afterEach(() => rm(folder, { recursive: true, force: true }));

const write = (name: string, text: string): Promise<void> => writeFile(join(folder, name), text);

const source = (name: string, url = 'file:///x', more = ''): string =>
  `apiVersion: lyceum.dev/v1alpha1\nkind: SkillSource\nmetadata: {name: ${name}}\nspec:\n  url: ${url}\n${more}`;

const names = (): string[] =>
  cluster.sources
    .list()
    .sort((a, b) => a.metadata.creationTimestamp.localeCompare(b.metadata.creationTimestamp))
    .map(({ metadata }) => metadata.name);

test('age is the order of the documents: files by name, then from top to bottom', async () => {
  await write('b.yaml', source('third'));
  await write('a.yaml', `${source('first')}---\n${source('second')}`);
  await cluster.load();
  assert.deepEqual(names(), ['first', 'second', 'third']);
});

test('an edit is a new generation; an unchanged file changes nothing', async () => {
  await write('a.yaml', source('one'));
  await cluster.load();
  const told: string[] = [];
  cluster.sources.onChange((key) => told.push(key));
  await cluster.load();
  assert.deepEqual(told, []);
  await write('a.yaml', source('one', 'file:///elsewhere'));
  await cluster.load();
  assert.deepEqual(told, ['default/one']);
  assert.equal(cluster.sources.get('default/one')?.metadata.generation, 2);
});

test('an object that is taken out is gone, and an object keeps its uid over restarts', async () => {
  await write('a.yaml', `${source('one')}---\n${source('two')}`);
  await cluster.load();
  const uid = cluster.sources.get('default/one')?.metadata.uid;
  await write('a.yaml', source('one'));
  await cluster.load();
  assert.deepEqual(names(), ['one']);
  const again = new ManifestCluster({ folder, environment: {}, complain: () => {}, event: () => {} });
  await again.load();
  assert.equal(again.sources.get('default/one')?.metadata.uid, uid);
});

test('what the API server would refuse is refused by file and line, and the object stays as it was', async () => {
  await write('a.yaml', source('one', 'file:///good'));
  await cluster.load();
  await write('a.yaml', source('one', 'ftp://bad'));
  await cluster.load();
  assert.match(complaints.join('\n'), /^a\.yaml:1: SkillSource one: .*github:\/\//);
  assert.deepEqual(cluster.sources.get('default/one')?.spec, { url: 'file:///good' });
});

test('an unknown field is named, never ignored', async () => {
  await write('a.yaml', source('one', 'file:///x', '  refersh: 5m\n'));
  await cluster.load();
  assert.match(complaints.join('\n'), /unknown field "spec\.refersh"/);
  assert.deepEqual(names(), []);
});

test('credentials in a URL are refused and not repeated', async () => {
  await write('a.yaml', source('one', 'git+https://me:canary-secret@example.com/x'));
  await cluster.load();
  assert.match(complaints.join('\n'), /secretRef/);
  assert.doesNotMatch(complaints.join('\n'), /canary-secret/);
});

test('a file that is no YAML in the middle of an edit keeps its last good objects, and is told once', async () => {
  await write('a.yaml', source('one'));
  await cluster.load();
  await write('a.yaml', `${source('one')}\n  : [`);
  await cluster.load();
  await cluster.load();
  assert.equal(complaints.length, 1);
  assert.match(complaints[0]!, /^a\.yaml:\d+: not YAML/);
  assert.deepEqual(names(), ['one']);
});

for (const brackets of ['[{', '{']) {
  test(`${brackets} that is opened ten thousand times is nested too deeply, and holds nothing up`, {
    timeout: 20_000,
  }, async () => {
    await write('a.yaml', source('one'));
    await write('b.yaml', `${source('two')}  tags: ${brackets.repeat(10_000)}\n`);
    await cluster.load();
    assert.equal(complaints.length, 1);
    assert.match(complaints[0]!, /^b\.yaml: nested too deeply/);
    assert.deepEqual(names(), ['one']);
  });
}

test('a Secret may name an environment variable; one that is not set is named and its key is missing', async () => {
  const secret = (value: string): string =>
    `apiVersion: v1\nkind: Secret\nmetadata: {name: token}\nstringData:\n  username: me\n  password: ${value}\n`;
  await write('a.yaml', secret('$(TOKEN)'));
  await cluster.load();
  const first = await cluster.readSecret('default', 'token');
  assert.equal(first?.data.get('password')?.toString(), 'from-the-environment');
  assert.equal(first?.data.get('username')?.toString(), 'me');
  await write('a.yaml', secret('$(NOT_SET)'));
  await cluster.load();
  const second = await cluster.readSecret('default', 'token');
  assert.equal(second?.data.has('password'), false);
  assert.notEqual(second?.resourceVersion, first?.resourceVersion);
  assert.match(complaints.join('\n'), /NOT_SET/);
});

test('data and binaryData of a ConfigMap are its files, and an edit is noticed', async () => {
  const configMap = (text: string): string =>
    `apiVersion: v1\nkind: ConfigMap\nmetadata: {name: rules}\ndata: {a__b: ${text}}\nbinaryData: {c: aGk=}\n`;
  await write('a.yaml', configMap('x'));
  await cluster.load();
  const told: string[] = [];
  cluster.configMaps.onChange((key) => told.push(key));
  const content = await cluster.readConfigMap('default', 'rules');
  assert.equal(content?.data.get('a__b')?.toString(), 'x');
  assert.equal(content?.data.get('c')?.toString(), 'hi');
  await write('a.yaml', configMap('yy'));
  await cluster.load();
  assert.deepEqual(told, ['default/rules']);
});

test('two documents of one name: the first one holds, and the second is named', async () => {
  await write('a.yaml', `${source('one', 'file:///first')}---\n${source('one', 'file:///second')}`);
  await cluster.load();
  assert.deepEqual(cluster.sources.get('default/one')?.spec, { url: 'file:///first' });
  assert.match(complaints.join('\n'), /stands twice/);
});

test('a file that an editor has emptied and not written yet, or moved away and not put back yet, keeps its objects', async () => {
  await write('a.yaml', source('one'));
  await cluster.load();
  const told: string[] = [];
  cluster.sources.onChange((key) => told.push(key));
  await write('a.yaml', '');
  const emptied = cluster.load();
  setTimeout(() => void write('a.yaml', `${source('one')}---\n${source('two')}`), 20);
  await emptied;
  assert.deepEqual(names(), ['one']);
  await cluster.load();
  assert.deepEqual(names(), ['one', 'two']);
  await rename(join(folder, 'a.yaml'), join(folder, 'a.yaml~'));
  const away = cluster.load();
  setTimeout(() => void rename(join(folder, 'a.yaml~'), join(folder, 'a.yaml')), 20);
  await away;
  await cluster.load();
  assert.deepEqual(names(), ['one', 'two']);
  assert.deepEqual(told, ['default/two']);
});

test('a manifest that cannot be read is named and the others are taken; hidden files and folders are none', async () => {
  await write('a.yaml', source('one'));
  await symlink('nowhere', join(folder, 'b.yaml'));
  await symlink('me@host.1234', join(folder, '.#a.yaml'));
  await mkdir(join(folder, 'folder.yaml'));
  await write('c.yaml', 'a: &a [x]\nb: *b\n');
  await cluster.load();
  assert.deepEqual(names(), ['one']);
  assert.equal(complaints.length, 2);
  assert.match(complaints[0]!, /^b\.yaml: cannot be read \(ENOENT\)$/);
  assert.match(complaints[1]!, /^c\.yaml:/);
});

test("a kind that lyceum.dev does not have, or none at all, is refused, never passed over; other people's kinds are", async () => {
  await write('a.yaml', 'apiVersion: lyceum.dev/v1alpha1\nkind: SkilSource\nmetadata: {name: x}\n');
  await write('b.yaml', 'apiVersion: lyceum.dev/v1alpha1\nknd: SkillSource\nmetadata: {name: x}\n');
  await write('c.yaml', 'apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: x}\n');
  await cluster.load();
  assert.equal(complaints.length, 2);
  assert.match(complaints.join('\n'), /^a\.yaml:1: .*SkillSource and SkillGateway/m);
  assert.match(complaints.join('\n'), /^b\.yaml:1: kind is missing/m);
});

test('an object whose apiVersion is broken by an edit stays as it was', async () => {
  await write('a.yaml', source('one'));
  await cluster.load();
  await write('a.yaml', source('one').replace('v1alpha1', 'v1'));
  await cluster.load();
  assert.match(complaints.join('\n'), /apiVersion must be lyceum\.dev\/v1alpha1/);
  assert.deepEqual(names(), ['one']);
});
