// A bucket in openkata's layout: agents list its versions and install them byte for byte, two servers count that, people look at
// it in a browser; the same behind tokens.
import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { list as listTar } from 'tar';
import { parseAllDocuments, stringify } from 'yaml';
import { type BucketServerFixture, bucketRequests, startBucketServer } from '../fixtures/bucket-server.ts';
import { eventually } from '../fixtures/eventually.ts';
import { install as installChart, uninstall } from './helm.ts';
import {
  apply,
  ClientPod,
  cluster,
  container,
  get,
  identities,
  node,
  nodeService,
  pods,
  processOf,
  removeEverything,
  restrictedNamespace,
  volumeFor,
} from './pods.ts';
import { reportFailures } from './report.ts';

const origin = 'http://agents.lyceum.svc.cluster.local:8000';
const closed = 'http://closed.lyceum.svc.cluster.local:8000';
const tokens = { claude: 'claude-0123456789abcdef', contractor: 'contractor-0123456789abcdef' };
const refreshSeconds = 5;
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
  version: string;
  manifest: { source: string; checksums: Record<string, string> };
  files: Record<string, string>;
  blobs?: Record<string, string>;
}

/** What an agent writes down: every file by its path. */
const written = ({ files, blobs = {} }: Install): Record<string, Buffer> =>
  inOrder({
    ...Object.fromEntries(Object.entries(files).map(([path, text]) => [path, Buffer.from(text)])),
    ...Object.fromEntries(Object.entries(blobs).map(([path, base64]) => [path, Buffer.from(base64, 'base64')])),
  });

/** The objects of a version, without what is for authors. */
const objectsOf = (folder: string): Record<string, Buffer> =>
  inOrder(
    Object.fromEntries(
      Object.entries(published)
        .filter(([key]) => key.startsWith(`${folder}/`) && !key.endsWith('/CHANGELOG.md'))
        .map(([key, content]) => [key.slice(folder.length + 1), Buffer.from(content)]),
    ),
  );

/** What a manifest should say of them. */
const checksumsOf = (folder: string): Record<string, string> =>
  Object.fromEntries(
    Object.entries(objectsOf(folder)).map(([path, bytes]) => [
      path,
      `sha256:${createHash('sha256').update(bytes).digest('hex')}`,
    ]),
  );

const inOrder = <Value>(record: Record<string, Value>): Record<string, Value> =>
  Object.fromEntries(Object.entries(record).sort());

/** The files of a tar.gz, by path. */
async function unpacked(archive: Buffer): Promise<Record<string, Buffer>> {
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
  await new Promise((resolve) => parser.once('end', resolve).end(archive));
  return inOrder(found);
}

/** Those of the gateway with two of them, each at its pod. */
const servers = () => pods('lyceum', 'app.kubernetes.io/name=lyceum-gateway,app.kubernetes.io/instance=agents');
const originsOfServers = async (): Promise<string[]> =>
  (await servers()).map(({ status }) => `http://${status.podIP}:8000`);

const operator = async () => (await pods('lyceum', 'app.kubernetes.io/component=operator'))[0];

describe("A bucket in openkata's layout", () => {
  reportFailures();
  let server: BucketServerFixture;
  let client: ClientPod;
  type Call = [name: string, args: object];
  const call = async (at: string, calls: Call[]): Promise<unknown[]> =>
    (await client.artifacts(`${at}/mcp`, calls)).map(({ isError, text }) => {
      assert.equal(isError, false, text);
      return JSON.parse(text);
    });
  const install = async (at: string, calls: Call[]) => (await call(at, calls)) as Install[];

  /** Of the requests that the bucket had since the list was emptied. */
  const objectsRead = (): string[] => bucketRequests(server).filter((one) => !one.endsWith('?'));

  before(async () => {
    for (const namespace of ['lyceum', 'agents']) await restrictedNamespace(namespace);
    await volumeFor({ namespace: 'lyceum', name: 'lyceum' });
    server = await startBucketServer('versitygw', { host: node.address });
    await nodeService('agents', 's3', server.port);
    [client] = await Promise.all([ClientPod.start('agents'), installChart('helm4', 'lyceum')]);
  });

  after(async () => {
    await uninstall('helm4', 'lyceum');
    await removeEverything();
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
      else {
        const url = `${place}/${server.bucket}/published`;
        Object.assign(spec, { url, region: 'us-east-1', refresh: `${refreshSeconds}s` });
      }
    }
    await cluster.kubectl(['apply', '-n', 'lyceum', '-f', '-'], objects.map((one) => stringify(one)).join('---\n'));
    const gateway = (name: string, spec: object) => ({
      ...{ apiVersion: 'lyceum.dev/v1alpha1', kind: 'SkillGateway' },
      ...{ metadata: { namespace: 'lyceum', name }, spec },
    });
    const secret = { namespace: 'lyceum', name: 'agents-tokens' };
    const scopes = [{ token: 'contractor', library: 'shared-skills' }];
    const auth = { tokens: { secretRef: { name: secret.name } }, scopes };
    await apply(
      { apiVersion: 'v1', kind: 'Secret', metadata: secret, stringData: tokens },
      gateway('agents', { replicas: 2 }),
      gateway('closed', { replicas: 1, auth }),
    );
    const wanted = [
      ...['skillsource/team-skills', 'skillsource/shared-skills'],
      ...['skillgateway/agents', 'skillgateway/closed'],
    ];
    await cluster.kubectl(['wait', '-n', 'lyceum', ...wanted, '--for=condition=Ready', '--timeout=90s']);
    const { counts } = (await get('lyceum', 'skillsource', 'team-skills')).status;
    assert.deepEqual([counts.skills, counts.rules, counts.profiles, counts.discovered], [1, 1, 1, 3]);
    await client.until(`${origin}/mcp`, 'skill://team-skills/loki', 'Of version 1.10.0.');
    await client.until(`${closed}/mcp`, 'skill://team-skills/loki', 'Of version 1.10.0.', tokens.claude);
  });

  it('lists what there is, of the newest version, and all versions from the oldest to the newest', async () => {
    const answers = await call(origin, [
      ['list_skills', { tag: 'logs' }],
      ['list_rules', {}],
      ['list_profiles', {}],
      ['skill_versions', { skill: 'loki' }],
      ['rule_versions', { rule: 'calm' }],
      ['profile_versions', { profile: 'scribe' }],
    ]);
    assert.deepEqual(answers, [
      [{ name: 'loki', version: '1.10.0', description: 'Ask Loki. Use for logs.', tags: 'logs, ops', downloads: 0 }],
      [{ name: 'calm', version: '1.0.0', description: 'Stay calm.', downloads: 0 }],
      [{ name: 'scribe', version: '0.1.0', description: 'Writes.', downloads: 0 }],
      ['1.2.0-rc.1', '1.9.0', '1.10.0'],
      ['1.0.0'],
      ['0.1.0'],
    ]);
  });

  it("installs the newest and an older version, equal to the bucket's objects byte for byte", async () => {
    const calls: Record<string, Call> = {
      'skills/loki/1.10.0': ['install_skill', { skill: 'loki' }],
      'skills/loki/1.9.0': ['install_skill', { skill: 'loki', version: '1.9.0' }],
      'rules/calm/1.0.0': ['install_rule', { rule: 'calm' }],
      'profiles/scribe/0.1.0': ['install_profile', { profile: 'scribe' }],
    };
    const installs = await install(origin, Object.values(calls));
    Object.keys(calls).forEach((folder, index) => {
      const { version, manifest } = installs[index]!;
      assert.equal(version, folder.split('/').at(-1));
      assert.deepEqual(written(installs[index]!), objectsOf(folder));
      assert.deepEqual(inOrder(manifest.checksums), checksumsOf(folder));
      assert.match(manifest.source, /^team-skills@sha256:[0-9a-f]{64}$/);
    });
    const [missing] = await client.artifacts(`${origin}/mcp`, [['install_skill', { skill: 'loki', version: '9.9.9' }]]);
    assert.equal(missing!.isError, true);
    assert.match(missing!.text, /^version 9\.9\.9 not found for loki/);
  });

  it('gives the same files as archives, which are the same bytes whichever server makes them', async () => {
    const paths = ['skills/loki/archive', 'skills/loki/archive/1.10.0', 'skills/loki/archive/1.9.0'];
    const [one, other] = (await originsOfServers()) as [string, string];
    const urls = [...paths.map((path) => `${one}/${path}`), `${other}/${paths[0]}`];
    const [newest, named, older, again, missing] = await client.download([...urls, `${one}/skills/loki/archive/9.9.9`]);
    assert.equal(missing!.status, 404);
    assert.deepEqual(named!.bytes, newest!.bytes);
    assert.deepEqual(again!.bytes, newest!.bytes);
    for (const [archive, version] of [
      [newest, '1.10.0'],
      [older, '1.9.0'],
    ] as const) {
      assert.equal(archive!.status, 200);
      const { '.manifest.json': manifest, ...files } = await unpacked(archive!.bytes);
      assert.deepEqual(files, objectsOf(`skills/loki/${version}`));
      const { installedAt, checksums } = JSON.parse(String(manifest));
      assert.equal(installedAt, '');
      assert.deepEqual(inOrder(checksums), checksumsOf(`skills/loki/${version}`));
    }
  });

  it('shows people the same in a browser: pages with all that they load, under a strict policy', async () => {
    const [home, newest, older, picture] = await client.download(
      ['/', '/skills/loki', '/skills/loki/1.9.0', '/skills/loki/raw/logo.png'].map((path) => origin + path),
    );
    const loads = new Set<string>();
    for (const [page, text] of [
      [home, 'Ask Loki. Use for logs.'],
      [newest, 'Of version 1.10.0.'],
      [older, 'Of version 1.9.0.'],
    ] as const) {
      const { status, headers, bytes } = page!;
      assert.deepEqual([status, headers['content-type']], [200, 'text/html; charset=utf-8']);
      assert.match(
        headers['content-security-policy']!,
        /^default-src 'none'; style-src 'self'; script-src 'self'; img/,
      );
      assert.ok(String(bytes).includes(text), text);
      for (const [, path] of String(bytes).matchAll(/<(?:link|script|img) [^>]*(?:href|src)="([^"]*)"/g)) {
        loads.add(new URL(path!, origin).href);
      }
    }
    assert.deepEqual(picture!.bytes, binary);
    assert.match(picture!.headers['content-security-policy']!, /sandbox/);
    assert.equal(loads.size, 3);
    for (const { status, bytes } of await client.download([...loads])) {
      assert.equal(status, 200);
      assert.notEqual(bytes.length, 0);
    }
  });

  it('shows and gives nothing to who has no token, and to who has one what is below its ceiling', async () => {
    const urls = ['/', '/skills/loki', '/skills/loki/archive', '/skills/shared'].map((path) => closed + path);
    const statuses = async (...token: string[]) => (await client.download(urls, ...token)).map(({ status }) => status);
    const refused = await client.download(urls);
    for (const { status, headers } of refused) {
      assert.equal(status, 401);
      assert.match(headers['www-authenticate']!, /^Basic .*Bearer$/);
    }
    assert.deepEqual(await statuses(tokens.contractor), [200, 404, 404, 200]);
    assert.deepEqual(await statuses(tokens.claude), [200, 200, 200, 200]);
    const [all, one, hidden] = await client.artifacts(
      `${closed}/mcp`,
      [
        ['list_skills', {}],
        ['install_skill', { skill: 'shared' }],
        ['install_skill', { skill: 'loki' }],
      ],
      tokens.contractor,
    );
    assert.deepEqual(
      JSON.parse(all!.text).map(({ name }: { name: string }) => name),
      ['shared'],
    );
    assert.equal(one!.isError, false);
    assert.match(hidden!.text, /^skill "loki" not found/);
    assert.equal(hidden!.isError, true);
    await assert.rejects(client.artifacts(`${closed}/mcp`, [['list_skills', {}]]), /401/);
  });

  it('counts what either of the two servers gave, also while the operator is killed, which fetches nothing anew', async () => {
    const installed = (times: number): Call[] => Array(times).fill(['install_skill', { skill: 'loki' }]);
    const [one, other] = (await originsOfServers()) as [string, string];
    const both = [`${one}/mcp`, `${other}/mcp`];
    await client.counted(both, 'loki', 2 + 4);
    await Promise.all([install(one, installed(2)), install(other, installed(3))]);
    const running = await operator();
    process.kill(await processOf(container(running, 'operator')), 'SIGKILL');
    server.exchanges.length = 0;
    await Promise.all([install(one, installed(1)), install(other, installed(4))]);
    await client.counted(both, 'loki', 6 + 10);
    const [page] = await client.download([`${one}/skills`]);
    assert.match(String(page!.bytes), />16 downloads</);
    const now = await operator();
    assert.equal(now.metadata.uid, running.metadata.uid);
    assert.equal(container(now, 'operator').restartCount, 1);
    await eventually('the new operator has looked', () => server.exchanges.length >= 2);
    assert.deepEqual(objectsRead(), []);
  });

  it('takes a version that is published while it serves, by the same pods, and fetches nothing else', async () => {
    const added = { 'skills/loki/2.0.0/notes.md': 'New.\n', 'skills/loki/2.0.0/SKILL.md': skill('2.0.0') };
    const before = identities(await servers());
    server.exchanges.length = 0;
    await server.put(Object.fromEntries(Object.entries(added).map(([key, content]) => [`published/${key}`, content])));
    Object.assign(published, added);
    const publishedAt = Date.now();
    const servedAt = await client.until(`${origin}/mcp`, 'skill://team-skills/loki', 'Of version 2.0.0.');
    const seconds = (servedAt - publishedAt) / 1000;
    assert.ok(seconds <= refreshSeconds + 2, `${seconds} s`);
    const calls: Call[] = [
      ['list_skills', { tag: 'logs' }],
      ['skill_versions', { skill: 'loki' }],
    ];
    for (const at of await originsOfServers()) {
      const [[row], versions] = await eventually(
        'this server has it too',
        async () => (await call(at, calls)) as [[{ version: string; downloads: number }], string[]],
        ([[first]]) => first.version === '2.0.0',
      );
      assert.equal(row.downloads, 16);
      assert.deepEqual(versions, ['1.2.0-rc.1', '1.9.0', '1.10.0', '2.0.0']);
    }
    const [newest] = await install(origin, [['install_skill', { skill: 'loki' }]]);
    assert.deepEqual(written(newest!), objectsOf('skills/loki/2.0.0'));
    assert.deepEqual(
      objectsRead().sort(),
      Object.keys(added)
        .map((key) => `GET /B/published/${key}`)
        .sort(),
    );
    assert.deepEqual(identities(await servers()), before);
  });

  it('goes on serving while the bucket is away, and says so; it follows when it is back', async () => {
    await server.stop();
    const wait = ['wait', '-n', 'lyceum', 'skillsource/team-skills', '--timeout=60s'];
    await cluster.kubectl([...wait, '--for=condition=Ready=False']);
    const [older] = await install(origin, [['install_skill', { skill: 'loki', version: '1.9.0' }]]);
    assert.deepEqual(written(older!), objectsOf('skills/loki/1.9.0'));
    await server.listen();
    await cluster.kubectl([...wait, '--for=condition=Ready']);
  });
});
