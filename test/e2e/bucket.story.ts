// A bucket in openkata's layout: its versions are listed and installed by an agent, byte for byte, and counted by two servers.
import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { list as listTar } from 'tar';
import { parseAllDocuments, stringify } from 'yaml';
import { type BucketServerFixture, bucketRequests, startBucketServer } from '../fixtures/bucket-server.ts';
import { eventually } from '../fixtures/eventually.ts';
import { install, uninstall } from './helm.ts';
import { apply, ClientPod, cluster, get, node, nodeService, restrictedNamespace, volumeFor } from './pods.ts';
import { reportFailures } from './report.ts';

const origin = 'http://agents.lyceum.svc.cluster.local:8000';
const url = `${origin}/mcp`;
const binary = Buffer.from([0x89, 0x50, 0x4e, 0x47, 0, 0xff, 0xfe, 13, 10]);

const skill = (version: string): string =>
  `---\nname: loki\ndescription: Ask Loki. Use for logs.\ntags: [logs, ops]\n---\nOf version ${version}.\r\n`;

const published: Record<string, string | Buffer> = {
  'skills/loki/1.9.0/SKILL.md': skill('1.9.0'),
  'skills/loki/1.10.0/SKILL.md': skill('1.10.0'),
  'skills/loki/1.10.0/logo.png': binary,
  'skills/loki/1.10.0/references/größe 1+1.md': 'How large.\n',
  'skills/loki/1.10.0/CHANGELOG.md': 'For authors.\n',
  'skills/loki/1.2.0-rc.1/SKILL.md': skill('1.2.0-rc.1'),
  'rules/calm/1.0.0/RULE.md': '---\ndescription: Stay calm.\n---\nCalm.\n',
  'profiles/scribe/0.1.0/scribe.md': '---\ndescription: Writes.\n---\nYou write.\n',
  'versions.json': JSON.stringify({
    skills: { loki: { version: '1.9.0', models: { x: { scenarios: [] } } } },
    more: 1,
  }),
};

interface Install {
  name: string;
  version: string;
  manifest: { source: string; checksums: Record<string, string> };
  files: Record<string, string>;
  blobs?: Record<string, string>;
}

/** What an agent writes down: every file by its path. */
const written = ({ files, blobs = {} }: Install): Record<string, Buffer> => ({
  ...Object.fromEntries(Object.entries(files).map(([path, text]) => [path, Buffer.from(text)])),
  ...Object.fromEntries(Object.entries(blobs).map(([path, base64]) => [path, Buffer.from(base64, 'base64')])),
});

/** The objects of a version, without what is for authors. */
const objectsOf = (folder: string): Record<string, Buffer> =>
  Object.fromEntries(
    Object.entries(published)
      .filter(([key]) => key.startsWith(`${folder}/`) && !key.endsWith('/CHANGELOG.md'))
      .map(([key, content]) => [key.slice(folder.length + 1), Buffer.from(content)]),
  );

const inOrder = <Value>(record: Record<string, Value>): Record<string, Value> =>
  Object.fromEntries(Object.entries(record).sort());

describe("A bucket in openkata's layout", () => {
  reportFailures();
  let server: BucketServerFixture;
  let client: ClientPod;
  const call = async (name: string, args: object): Promise<unknown> => {
    const [answer] = await client.artifacts(url, [name, args]);
    assert.equal(answer!.isError, false, answer!.text);
    return JSON.parse(answer!.text);
  };

  before(async () => {
    for (const namespace of ['lyceum', 'agents']) await restrictedNamespace(namespace);
    await volumeFor({ namespace: 'lyceum', name: 'lyceum' });
    server = await startBucketServer('versitygw', { host: node.address });
    await nodeService('agents', 's3', server.port);
    await install('helm4', 'lyceum');
    client = await ClientPod.start('agents', 'docker.io/library/lyceum:0.1.0');
  });

  after(async () => {
    await uninstall('helm4', 'lyceum');
    for (const namespace of ['lyceum', 'agents']) await cluster.kubectl(['delete', 'namespace', namespace]);
    await cluster.kubectl(['delete', 'persistentvolume', '--all']);
    await cluster.kubectl(['delete', 'crd', 'skillsources.lyceum.dev', 'skillgateways.lyceum.dev']);
    await server.close();
  });

  it('stands after kubectl apply of the example, signed and for everybody', async () => {
    const place = 's3+http://s3.agents.svc.cluster.local';
    await server.put({ 'skills/shared/SKILL.md': '---\nname: shared\ndescription: For all.\n---\nx\n' });
    await server.makePublic();
    const open = `${place}/${server.bucket}`;
    await server.reset();
    await server.put(
      Object.fromEntries(Object.entries(published).map(([key, content]) => [`published/${key}`, content])),
    );
    const text = await readFile(join(import.meta.dirname, '../../examples/cluster/bucket.yaml'), 'utf8');
    const objects = parseAllDocuments(text).map((document) => document.toJS());
    for (const { kind, metadata, spec, stringData } of objects) {
      if (kind === 'Secret') Object.assign(stringData, server.secret);
      else if (metadata.name === 'shared-skills') spec.url = open;
      else Object.assign(spec, { url: `${place}/${server.bucket}/published`, region: 'us-east-1' });
    }
    await cluster.kubectl(['apply', '-n', 'lyceum', '-f', '-'], objects.map((one) => stringify(one)).join('---\n'));
    const metadata = { namespace: 'lyceum', name: 'agents' };
    await apply({ apiVersion: 'lyceum.dev/v1alpha1', kind: 'SkillGateway', metadata, spec: { replicas: 2 } });
    const wanted = ['skillsource/team-skills', 'skillsource/shared-skills', 'skillgateway/agents'];
    await cluster.kubectl(['wait', '-n', 'lyceum', ...wanted, '--for=condition=Ready', '--timeout=90s']);
    const { counts } = (await get('lyceum', 'skillsource', 'team-skills')).status;
    assert.deepEqual([counts.skills, counts.rules, counts.profiles, counts.discovered], [1, 1, 1, 3]);
    await client.until(url, 'skill://team-skills/loki', 'Of version 1.10.0.');
  });

  it('lists what there is, of the newest version, and all versions from the oldest to the newest', async () => {
    const rows = (await call('list_skills', { tag: 'logs' })) as object[];
    assert.deepEqual(rows, [
      { name: 'loki', version: '1.10.0', description: 'Ask Loki. Use for logs.', tags: 'logs, ops', downloads: 0 },
    ]);
    assert.deepEqual(await call('skill_versions', { skill: 'loki' }), ['1.2.0-rc.1', '1.9.0', '1.10.0']);
    assert.deepEqual(await call('rule_versions', { rule: 'calm' }), ['1.0.0']);
    assert.deepEqual(await call('profile_versions', { profile: 'scribe' }), ['0.1.0']);
  });

  it("installs the newest and an older version, equal to the bucket's objects byte for byte", async () => {
    const newest = (await call('install_skill', { skill: 'loki' })) as Install;
    assert.deepEqual(inOrder(written(newest)), inOrder(objectsOf('skills/loki/1.10.0')));
    for (const [path, bytes] of Object.entries(written(newest))) {
      assert.equal(newest.manifest.checksums[path], `sha256:${createHash('sha256').update(bytes).digest('hex')}`);
    }
    assert.match(newest.manifest.source, /^team-skills@sha256:[0-9a-f]{64}$/);
    const older = (await call('install_skill', { skill: 'loki', version: '1.9.0' })) as Install;
    assert.deepEqual(written(older), objectsOf('skills/loki/1.9.0'));
    assert.deepEqual(written((await call('install_rule', { rule: 'calm' })) as Install), objectsOf('rules/calm/1.0.0'));
    const [missing] = await client.artifacts(url, ['install_skill', { skill: 'loki', version: '9.9.9' }]);
    assert.equal(missing!.isError, true);
    assert.match(missing!.text, /^version 9\.9\.9 not found for loki/);
  });

  it('gives the same files as an archive, and every time the same archive', async () => {
    const archives = await Promise.all(
      ['skills/loki/archive', 'skills/loki/archive/1.10.0'].map((path) => client.download(`${origin}/${path}`)),
    );
    assert.deepEqual(
      archives.map(({ status }) => status),
      [200, 200],
    );
    assert.deepEqual(archives[0]!.body, archives[1]!.body);
    const found: Record<string, Buffer> = {};
    const parser = listTar({
      onReadEntry: (entry) => {
        const chunks: Buffer[] = [];
        entry.on('data', (chunk) => chunks.push(chunk));
        entry.on('end', () => {
          found[entry.path] = Buffer.concat(chunks);
        });
      },
    });
    await new Promise((resolve) => parser.once('end', resolve).end(archives[0]!.body));
    const { '.manifest.json': manifest, ...files } = found;
    assert.deepEqual(inOrder(files), inOrder(objectsOf('skills/loki/1.10.0')));
    assert.equal(JSON.parse(String(manifest)).installedAt, '');
    assert.equal((await client.download(`${origin}/skills/loki/archive/9.9.9`)).status, 404);
  });

  it('counts what was installed and downloaded, whichever of the two servers gave it', async () => {
    await eventually('both servers tell of four downloads', async () => {
      const lists = await Promise.all(Array.from({ length: 4 }, () => call('list_skills', { tag: 'logs' })));
      return lists.every((rows) => (rows as { downloads: number }[])[0]!.downloads === 4);
    });
  });

  it('takes a version that is published while it serves, and fetches nothing else', async () => {
    const added = { 'skills/loki/2.0.0/notes.md': 'New.\n', 'skills/loki/2.0.0/SKILL.md': skill('2.0.0') };
    server.exchanges.length = 0;
    for (const [key, content] of Object.entries(added)) await server.put({ [`published/${key}`]: content });
    const request = `lyceum.dev/requestedAt=${Date.now()}`;
    await cluster.kubectl(['annotate', '-n', 'lyceum', '--overwrite', 'skillsource/team-skills', request]);
    await client.until(url, 'skill://team-skills/loki', 'Of version 2.0.0.');
    assert.deepEqual(await call('skill_versions', { skill: 'loki' }), ['1.2.0-rc.1', '1.9.0', '1.10.0', '2.0.0']);
    const read = bucketRequests(server).filter((one) => !one.endsWith('?'));
    assert.deepEqual(
      read.sort(),
      Object.keys(added)
        .map((key) => `GET /B/published/${key}`)
        .sort(),
    );
  });

  it('goes on serving while the bucket is away, and says so; it follows when it is back', async () => {
    await server.stop();
    const request = `lyceum.dev/requestedAt=${Date.now()}`;
    await cluster.kubectl(['annotate', '-n', 'lyceum', '--overwrite', 'skillsource/team-skills', request]);
    const wait = ['wait', '-n', 'lyceum', 'skillsource/team-skills', '--timeout=60s'];
    await cluster.kubectl([...wait, '--for=condition=Ready=False']);
    assert.deepEqual(
      written((await call('install_skill', { skill: 'loki', version: '1.9.0' })) as Install),
      objectsOf('skills/loki/1.9.0'),
    );
    await server.listen();
    await cluster.kubectl([...wait, '--for=condition=Ready']);
  });
});
