// The manifests below examples/: what an API server takes as they stand, and what `lyceum check` finds in them.
import assert from 'node:assert/strict';
import { cp, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { after, before, test } from 'node:test';
import { apiServer } from '../cluster/api-server.ts';
import { startBucketServer } from '../fixtures/bucket-server.ts';
import { eventually } from '../fixtures/eventually.ts';
import { GitFixture } from '../fixtures/git-repository.ts';
import { LyceumProcess } from '../fixtures/lyceum-process.ts';
import { skillText } from '../fixtures/operator.ts';
import { registryLogin, startRegistry } from '../fixtures/registry-server.ts';
import { startSshServer } from '../fixtures/ssh-server.ts';
import { tarOf } from '../fixtures/tar.ts';
import { secret, startWebDavServer } from '../fixtures/webdav-server.ts';
import { repository } from './pages.ts';

const examples = join(repository, 'examples');
const quickstart = join(examples, 'quickstart');
const ofCluster = (await readdir(join(examples, 'cluster'))).filter((name) => !name.startsWith('values-'));
const manifests = [join(quickstart, 'lyceum.yaml'), ...ofCluster.map((name) => join(examples, 'cluster', name))];

let folder: string;
before(async () => {
  folder = await mkdtemp(join(tmpdir(), 'lyceum-examples-'));
});
after(() => rm(folder, { recursive: true, force: true }));

for (const file of manifests) {
  test(`an API server takes ${file.slice(repository.length + 1)} as it stands, without a warning`, async () => {
    const server = await apiServer();
    const dryRun = ['apply', '--server-side', '--dry-run=server', '--validate=strict'];
    const { code, stderr } = await server.tryKubectl([...dryRun, '-n', await server.namespace(), '-f', file]);
    assert.deepEqual({ code, stderr }, { code: 0, stderr: '' });
  });
}

async function check(...args: string[]): Promise<{ code: number | null; said: string }> {
  await using process = new LyceumProcess(['check', ...args]);
  return { code: await process.ended(), said: process.said };
}

/** The example with another address and the credentials of who is there, as a file of its own. */
async function elsewhere(name: string, replacements: readonly (readonly [string, string])[]): Promise<string> {
  let text = await readFile(join(examples, 'cluster', name), 'utf8');
  for (const [from, to] of replacements) {
    assert.ok(text.includes(from), `${name} does not say ${from}`);
    text = text.replaceAll(from, to);
  }
  const file = join(folder, name);
  await writeFile(file, text);
  return file;
}

test('lyceum check finds every kind in the quickstart, and nothing to complain about', async () => {
  const { code, said } = await check(join(quickstart, 'lyceum.yaml'));
  assert.equal(code, 0, said);
  assert.match(
    said,
    /^handbook .*: 4 skills, 1 prompt, 1 rule, 1 profile of 7 would be served, 1 pack file, 0 problems$/m,
  );
  assert.match(said, /^house-rules .*: 1 skill of 1 would be served, 0 problems$/m);
});

test('lyceum check finds nothing to complain about in what the cluster example brings along', async () => {
  const { code, said } = await check(join(examples, 'cluster/skills.yaml'));
  assert.equal(code, 0, said);
  assert.match(said, /^house-rules .*: 1 skill of 1 would be served, 0 problems$/m);
});

test('the Nextcloud example is read from a WebDAV server, both sources with its Secret', async () => {
  const server = await startWebDavServer('Apache with Basic');
  try {
    await server.write({
      'Skills/skills/one/SKILL.md': skillText('one'),
      'Drafts/prompts/two.md': 'Two, please.\n',
    });
    const file = await elsewhere('nextcloud.yaml', [
      ['webdav+https://cloud.example.com/remote.php/dav/files/ada/', server.sourceUrl()],
      ['username: ada', `username: ${secret.username}`],
      ['password: an app password', `password: ${secret.password}`],
    ]);
    const { code, said } = await check(file);
    assert.equal(code, 0, said);
    assert.match(said, /^office-skills .*: 1 skill of 1 would be served, 0 problems$/m);
    assert.match(said, /^office-drafts .*: 1 prompt of 1 would be served, 0 problems$/m);
  } finally {
    await server.close();
  }
});

test('the example of git over SSH is read from an sshd, with its deploy key', async () => {
  const server = await startSshServer();
  try {
    const pack = join(folder, 'team/skills.git');
    const repo = await GitFixture.create(pack);
    await repo.commitFiles({ 'skills/one/SKILL.md': skillText('one') });
    const lines = (text: string) => text.trim().replaceAll('\n', '\n    ');
    const file = await elsewhere('git-ssh.yaml', [
      ['git+ssh://git@git.example.com/team/skills.git', server.sourceUrl(pack)],
      ['a private key, as ssh-keygen writes it, without a passphrase', lines(server.secret.identity)],
      ['git.example.com ssh-ed25519 AAAA', lines(server.secret.known_hosts)],
    ]);
    const { code, said } = await check(file);
    assert.equal(code, 0, said);
    assert.match(said, /^private-skills .*: 1 skill of 1 would be served, 0 problems$/m);
  } finally {
    await server.close();
  }
});

test('the example of buckets is read from an S3 server, with its Secret and without', async () => {
  const server = await startBucketServer('versitygw');
  try {
    const closed = server.sourceUrl();
    await server.put({ 'published/skills/one/SKILL.md': skillText('one') });
    await server.reset();
    const open = server.sourceUrl();
    await server.put({ 'rules/two/RULE.md': 'Two.\n' });
    await server.makePublic();
    const file = await elsewhere('bucket.yaml', [
      ['s3://example-team-skills', closed],
      ['region: eu-central-1', 'region: us-east-1'],
      ['s3+http://minio.minio.svc.cluster.local:9000/skills', open],
      ['accessKeyId: AKIAEXAMPLE', `accessKeyId: ${server.secret.accessKeyId}`],
      ['secretAccessKey: its secret', `secretAccessKey: ${server.secret.secretAccessKey}`],
    ]);
    const { code, said } = await check(file);
    assert.equal(code, 0, said);
    assert.match(said, /^team-skills .*: 1 skill of 1 would be served, 0 problems$/m);
    assert.match(said, /^shared-skills .*: 1 rule of 1 would be served, 0 problems$/m);
  } finally {
    await server.close();
  }
});

test('the example of OCI artifacts is read from registries, with its image pull secret and without', async () => {
  const [closed, open] = await Promise.all([startRegistry({ access: 'password' }), startRegistry()]);
  const skill = (path: string) => [{ bytes: tarOf([{ name: path, content: skillText('one') }]) }];
  try {
    await closed.push('example/skills', 'v1', skill('skills/one/SKILL.md'));
    await open.push('skills', 'latest', skill('one/SKILL.md'));
    const file = await elsewhere('oci.yaml', [
      ['oci://ghcr.io/example/skills:v1', closed.sourceUrl('example/skills:v1')],
      ['"ghcr.io"', `"${closed.host}"`],
      ['"ada"', `"${registryLogin.username}"`],
      ['a token that may read packages', registryLogin.password],
      ['oci+http://registry.registry.svc.cluster.local:5000/skills', open.sourceUrl('skills')],
    ]);
    const { code, said } = await check(file);
    assert.equal(code, 0, said);
    assert.match(said, /^released-skills .*: 1 skill of 1 would be served, 0 problems$/m);
    assert.match(said, /^built-skills .*: 1 skill of 1 would be served, 0 problems$/m);
  } finally {
    await Promise.all([closed.close(), open.close()]);
  }
});

test("the discovery example is read from another Lyceum's index", async () => {
  const published = join(folder, basename(quickstart));
  await cp(quickstart, published, { recursive: true });
  await using publisher = new LyceumProcess(['run', published, '--port', '0', '--volume', join(folder, 'volume')]);
  const url = await eventually(
    'the URL of the publisher',
    () => /serves MCP at (\S+)\/mcp/.exec(publisher.output.join('\n'))?.[1] ?? '',
  );
  await eventually(
    'all its skills',
    () => fetch(`${url}/.well-known/agent-skills/index.json`).then((answer) => answer.json()),
    // biome-ignore lint/suspicious/noExplicitAny: whatever the answer has
    (index: any) => index.skills.length === 5,
  );
  const { code, said } = await check(await elsewhere('discovery-index.yaml', [['https://skills.example.com', url]]));
  assert.equal(code, 0, said);
  assert.match(said, /^partner .*: 5 skills of 5 would be served, 0 problems$/m);
});
