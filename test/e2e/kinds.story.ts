// Every kind of material for every kind of client: two WebDAV folders and a gateway with tokens, as the examples declare them.
import assert from 'node:assert/strict';
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import { parseAllDocuments, stringify } from 'yaml';
import { secret as credentials, startWebDavServer, type WebDavServerFixture } from '../fixtures/webdav-server.ts';
import type { Kinds, Wanted } from './client.ts';
import { install, uninstall } from './helm.ts';
import {
  type Anything,
  apply,
  ClientPod,
  cluster,
  get,
  node,
  nodeService,
  removeEverything,
  restrictedNamespace,
  volumeFor,
} from './pods.ts';
import { reportFailures } from './report.ts';

const examples = join(import.meta.dirname, '../../examples');
const handbook = join(examples, 'quickstart/handbook');
const url = 'http://closed.lyceum.svc.cluster.local:8000/mcp';
const tokens = { n8n: 'n8n-0123456789abcdef', claude: 'claude-0123456789abcdef' };

const rule = 'rules/write-for-the-night/RULE.md';
const profile = 'profiles/incident-scribe/incident-scribe.md';
const prompt = 'prompts/hand-over.md';
const runbook = 'skill://office-drafts/write-a-runbook';

const wanted: Wanted = {
  prompt: 'office-drafts_hand-over',
  arguments: { notes: 'DiskFull fired twice' },
  uris: [
    'skill://office-drafts/_rules/write-for-the-night',
    'skill://office-drafts/_profiles/incident-scribe',
    runbook,
  ],
};
/** For so long a server takes what it heard of a Live file for true. */
const fresh = 2000;

/** The files of the quickstart's handbook, by path. */
async function handbookFiles(): Promise<Record<string, Buffer>> {
  const entries = await readdir(handbook, { recursive: true, withFileTypes: true });
  const paths = entries.filter((entry) => entry.isFile()).map(({ parentPath, name }) => join(parentPath, name));
  return Object.fromEntries(
    await Promise.all(paths.map(async (path) => [path.slice(handbook.length + 1), await readFile(path)] as const)),
  );
}

/** An example of examples/cluster with words of this cluster in it. */
async function example(name: string, change: (object: Anything) => void): Promise<void> {
  const objects = parseAllDocuments(await readFile(join(examples, 'cluster', name), 'utf8')).map((one) => one.toJS());
  for (const object of objects) change(object);
  await cluster.kubectl(['apply', '-n', 'lyceum', '-f', '-'], objects.map((object) => stringify(object)).join('---\n'));
}

/** A text without its frontmatter. */
const body = (text: string): string => text.replace(/^---\n.*?\n---\n/s, '');

describe('A gateway with every kind of material', () => {
  reportFailures();
  let dav: WebDavServerFixture;
  let client: ClientPod;
  let files: Record<string, Buffer>;
  const text = (path: string): string => String(files[path]);

  const edit = async (path: string, words: string): Promise<void> => {
    files[path] = Buffer.from(`${text(path)}\n${words}\n`);
    await dav.write({ [`Drafts/${path}`]: files[path] }, 0);
  };

  function assertShown({ prompt: said, texts }: Kinds): void {
    const shown = body(text(prompt)).replace('{{ notes }}', 'DiskFull fired twice');
    assert.equal(said, shown.replace('{{ next }}', 'whoever is on call next'));
    assert.deepEqual(texts, [rule, profile, 'skills/write-a-runbook/SKILL.md'].map(text));
  }

  before(async () => {
    for (const namespace of ['lyceum', 'agents']) await restrictedNamespace(namespace);
    await volumeFor({ namespace: 'lyceum', name: 'lyceum' });
    files = await handbookFiles();
    dav = await startWebDavServer('Apache with Basic', { host: node.address });
    for (const [path, bytes] of Object.entries(files)) {
      await dav.write({ [`Drafts/${path}`]: bytes });
      if (path.startsWith('skills/incident/')) await dav.write({ [`Skills/${path}`]: bytes });
    }
    await nodeService('agents', 'dav', dav.port);
    await install('helm4', 'lyceum');
    client = await ClientPod.start('agents');
  });

  after(async () => {
    await uninstall('helm4', 'lyceum');
    await removeEverything();
    await dav.close();
  });

  it('stands after kubectl apply of the examples, and counts every kind', async () => {
    await example('nextcloud.yaml', ({ kind, spec, ...secret }) => {
      if (kind === 'Secret') Object.assign(secret.stringData, credentials);
      else spec.url = spec.url.replace(/^.*\/files\/ada\//, 'webdav+http://dav.agents.svc.cluster.local/dav/');
    });
    await example('tokens.yaml', ({ spec }) => {
      spec.auth.scopes = [{ token: 'n8n', library: 'office-drafts' }];
    });
    const metadata = { namespace: 'lyceum', name: 'agents-tokens' };
    await apply({ apiVersion: 'v1', kind: 'Secret', metadata, stringData: tokens });
    const objects = ['skillsource/office-skills', 'skillsource/office-drafts', 'skillgateway/closed'];
    await cluster.kubectl(['wait', '-n', 'lyceum', ...objects, '--for=condition=Ready', '--timeout=60s']);
    const { counts } = (await get('lyceum', 'skillsource', 'office-drafts')).status;
    const { skills, prompts, rules, profiles, problems } = counts;
    assert.deepEqual(
      { skills, prompts, rules, profiles, problems },
      { skills: 4, prompts: 1, rules: 1, profiles: 1, problems: 0 },
    );
    await client.until(url, wanted.uris[0]!, 'Write for the night', tokens.claude);
  });

  it('shows them to a client of the current protocol, every file of every skill as its digest says', async () => {
    const seen = await client.kinds(url, wanted, tokens.claude);
    assert.equal(seen.version, '2026-07-28');
    assert.deepEqual(seen.prompts, ['office-drafts_hand-over']);
    assert.deepEqual(seen.listed, [
      'skill://office-drafts',
      'skill://incident',
      'skill://office-drafts/_rules',
      'skill://office-drafts/_profiles',
      'skill://office-skills',
    ]);
    assertShown(seen);
    assert.deepEqual(seen.skills, {
      'skill://office-drafts/review-a-change/SKILL.md': 1,
      'skill://office-drafts/take-over-an-incident/SKILL.md': 1,
      'skill://office-drafts/write-a-postmortem/SKILL.md': 1,
      'skill://office-drafts/write-a-runbook/SKILL.md': 2,
      'skill://office-skills/take-over-an-incident/SKILL.md': 1,
      'skill://office-skills/write-a-postmortem/SKILL.md': 1,
    });
    assert.equal(seen.offered.length, 6);
  });

  it('gives them to n8n, which has tools alone and a token with a ceiling', async () => {
    const seen = await client.n8n(url, wanted, tokens.n8n);
    assert.deepEqual(seen.prompts, ['office-drafts_hand-over']);
    assert.deepEqual(seen.listed, [
      'skill://office-drafts',
      'skill://incident',
      'skill://office-drafts/_rules',
      'skill://office-drafts/_profiles',
    ]);
    assertShown(seen);
    const elsewhere = { ...wanted, uris: ['skill://office-skills/write-a-postmortem'] };
    await assert.rejects(client.n8n(url, elsewhere, tokens.n8n), /read_resource: /);
    await assert.rejects(client.n8n(url, wanted), /401/);
  });

  it('reads edits in the Live folder back on the next read: a rule, a profile, a prompt, a skill', async () => {
    for (const path of [rule, profile, prompt, 'skills/write-a-runbook/SKILL.md']) await edit(path, 'And sleep well.');
    await pause(fresh);
    assertShown(await client.kinds(url, wanted, tokens.claude));
    assertShown(await client.n8n(url, wanted, tokens.n8n));
  });

  it('goes on serving while the WebDAV server is down, and takes edits up when it is back', async () => {
    await pause(fresh);
    const load = await client.load(url, runbook, tokens.claude);
    await dav.stop();
    await pause(fresh + 1000);
    const { prompts, texts } = await client.n8n(url, wanted, tokens.n8n);
    assert.deepEqual([prompts.length, texts.length], [1, 3]);
    const { reads, failures, slowestMilliseconds } = await load.sum();
    assert.deepEqual(failures, []);
    assert.ok(reads > 100, `${reads} reads`);
    assert.ok(slowestMilliseconds < 2000, `${slowestMilliseconds} ms`);
    await edit('skills/write-a-runbook/SKILL.md', 'It is back.');
    await dav.listen();
    await client.until(url, runbook, 'It is back.', tokens.claude);
  });
});
