// Live sources under the programs that users start: `lyceum run` with Secrets as manifests, `lyceum server` with mounted ones.
import assert from 'node:assert/strict';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, afterEach, before, test } from 'node:test';
import { eventually } from '../fixtures/eventually.ts';
import { LyceumProcess } from '../fixtures/lyceum-process.ts';
import { OperatorFixture, skillText } from '../fixtures/operator.ts';
import { asked, secret, startWebDavServer, user, type WebDavServerFixture } from '../fixtures/webdav-server.ts';
import { readText } from '../server/support/mcp.ts';

let dav: WebDavServerFixture;
let folder: string;
before(async () => {
  dav = await startWebDavServer('Apache with Digest');
  folder = await mkdtemp(join(tmpdir(), 'lyceum-live-'));
});
afterEach(() => dav.reset());
after(async () => {
  await dav.close();
  await rm(folder, { recursive: true, force: true });
});

const loki = 'skill://notes/loki';

test('lyceum run: the Secret is a manifest, an edit is read back on the next read, lyceum check says the same', async () => {
  await dav.write({ 'skills/loki/SKILL.md': skillText('loki') });
  const manifests = join(folder, 'manifests');
  await mkdir(manifests);
  await writeFile(
    join(manifests, 'notes.yaml'),
    `apiVersion: v1
kind: Secret
metadata: {name: cloud}
stringData: {username: ${user.username}, password: "$(CLOUD_PASSWORD)"}
---
apiVersion: lyceum.dev/v1alpha1
kind: SkillSource
metadata: {name: notes}
spec: {url: "${dav.sourceUrl()}", cache: Live, secretRef: {name: cloud}}
---
apiVersion: lyceum.dev/v1alpha1
kind: SkillGateway
metadata: {name: agents}
spec: {}
`,
  );
  const env = { CLOUD_PASSWORD: user.password };
  await using run = new LyceumProcess(['run', manifests, '--port', '0', '--volume', join(folder, 'volume')], { env });
  const url = await eventually(
    'the URL is printed',
    () => /serves MCP at (\S+)\/mcp/.exec(run.output.join('\n'))?.[1] ?? '',
  );
  await eventually('the skill is served', async () => (await readText(url, loki)) === skillText('loki'));
  await dav.write({ 'skills/loki/SKILL.md': skillText('loki', 'Edited.') }, 0);
  const edited = performance.now();
  await eventually('the edit is served', async () => (await readText(url, loki)) === skillText('loki', 'Edited.'));
  assert(performance.now() - edited < 3000);
  assert.doesNotMatch(run.said, /canary/);

  await using check = new LyceumProcess(['check', manifests, '--json'], { env });
  assert.equal(await check.ended(), 0, check.said);
  assert.match(check.output.join('\n'), /"skills": ?1/);
});

test('lyceum server: Secrets are read from where they are mounted; without them sources are served as harvested', async () => {
  await dav.write({ 'skills/loki/SKILL.md': skillText('loki') });
  await using operator = await OperatorFixture.start();
  operator.cluster.secrets.set('cloud', secret);
  operator.cluster.gateway('agents');
  operator.cluster.source('notes', { spec: { url: dav.sourceUrl(), cache: 'Live', secretRef: { name: 'cloud' } } });
  await eventually('it is published', () => operator.catalogue('notes'));
  const secrets = join(folder, 'secrets');
  await mkdir(join(secrets, 'notes'), { recursive: true });
  for (const [key, value] of Object.entries(secret)) await writeFile(join(secrets, 'notes', key), `${value}\n`);
  const start = (...more: string[]) =>
    new LyceumProcess([
      ...['server', '--volume', operator.volume, '--gateway', 'agents', '--host', '127.0.0.1', '--port', '0'],
      ...['--metrics-port', '0', ...more],
    ]);
  const urlOf = (server: LyceumProcess) =>
    eventually('it listens', () => server.log.find(({ msg }) => msg === 'server started')?.url as string);
  await using server = start('--live-secrets', secrets, '--allow-loopback');
  await using closed = start('--live-secrets', secrets);
  await using without = start('--allow-loopback');
  await dav.write({ 'skills/loki/SKILL.md': skillText('loki', 'Edited.') }, 0);
  dav.exchanges.length = 0;
  assert.equal(await readText(await urlOf(without), loki), skillText('loki'), 'without Secrets as it was harvested');
  assert.equal(await readText(await urlOf(closed), loki), skillText('loki'), 'the guard holds for Live reads');
  assert.deepEqual(asked(dav), []);
  assert.equal(closed.log.find(({ level }) => level === 40)?.reason, 'AddressNotAllowed');
  assert.equal(await readText(await urlOf(server), loki), skillText('loki', 'Edited.'));
  assert.doesNotMatch(server.said + closed.said, /canary/);
});
