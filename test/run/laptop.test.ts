// `lyceum run`: the quickstart as a newcomer starts it, with both lines of the MCP SDK as clients.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { cp, mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { createServer, type Server } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { Client as OldClient } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport as OldTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { eventually } from '../fixtures/eventually.ts';
import { LyceumProcess } from '../fixtures/lyceum-process.ts';

const quickstart = join(import.meta.dirname, '../../examples/quickstart');

let folder: string;

before(async () => {
  folder = await mkdtemp(join(tmpdir(), 'lyceum-laptop-'));
});
after(() => rm(folder, { recursive: true, force: true }));

async function started(name: string): Promise<{ process: LyceumProcess; manifests: string }> {
  const manifests = join(folder, name);
  await cp(quickstart, manifests, { recursive: true });
  const process = new LyceumProcess(['run', manifests, '--port', '0', '--volume', join(folder, `${name}-volume`)]);
  return { process, manifests };
}

/** The MCP URL that is printed for a gateway. */
const printedUrl = (process: LyceumProcess, gateway: string): Promise<string> =>
  eventually(
    `the URL of ${gateway}`,
    () => new RegExp(`Gateway "${gateway}" serves MCP at (\\S+)`).exec(process.output.join('\n'))?.[1] ?? '',
  );

async function read(url: string, uri: string): Promise<string> {
  const client = new Client({ name: 'test', version: '1' });
  await client.connect(new StreamableHTTPClientTransport(new URL(url)));
  try {
    return ((await client.readResource({ uri })).contents[0] as { text: string }).text;
  } finally {
    await client.close();
  }
}

test('both lines of the SDK list and read over the printed URL; edits of manifests and skills show up', async () => {
  const { process, manifests } = await started('edits');
  await using _ = process;
  const url = await printedUrl(process, 'agents');

  const skill = join(manifests, 'handbook/skills/review-a-change/SKILL.md');
  const text = await readFile(skill, 'utf8');
  await eventually(
    'the skill',
    () => read(url, 'skill://handbook/review-a-change'),
    (got) => got === text,
  );
  const old = new OldClient({ name: 'test', version: '1' });
  await old.connect(new OldTransport(new URL(url)));
  const { resources } = await old.listResources();
  assert.deepEqual(
    resources.map(({ uri }) => uri),
    [
      'skill://handbook',
      'skill://incident',
      'skill://handbook/_files',
      'skill://handbook/_rules',
      'skill://handbook/_profiles',
      'skill://house-rules',
    ],
  );
  const { contents } = await old.readResource({ uri: 'skill://handbook/shared/glossary.md' });
  assert.match((contents[0] as { text: string }).text, /^# Glossary/);
  await old.close();

  await writeFile(skill, `${text}\nAnd who has tried it?\n`);
  await eventually(
    'the edited skill, within its refresh plus 2 s',
    () => read(url, 'skill://handbook/review-a-change'),
    (got) => got.endsWith('tried it?\n'),
    7,
  );

  const manifest = join(manifests, 'lyceum.yaml');
  await writeFile(manifest, (await readFile(manifest, 'utf8')).replace('title: Handbook', 'title: The Handbook'));
  await eventually(
    'the edited manifest',
    async () => {
      const client = new Client({ name: 'test', version: '1' });
      await client.connect(new StreamableHTTPClientTransport(new URL(url)));
      const { resources: rows } = await client.listResources();
      await client.close();
      return rows[0]?.description ?? '';
    },
    (description) => description.startsWith('The Handbook:'),
  );

  const shown = process.output.join('\n');
  assert.match(shown, /^NAME +URL +REVISION +SKILLS +PROBLEMS +READY +STATUS +AGE$/m);
  assert.match(shown, /^handbook +file:\/\/\/handbook +sha256:[0-9a-f]{64} +4 +0 +True +Serving 4 skills/m);
  assert.match(shown, /claude mcp add --transport http agents http:/);
  process.kill('SIGINT');
  assert.equal(await process.ended(), 0);
  assert.deepEqual(process.errors, []);
});

test('what README.md shows is what is printed and answered', async () => {
  const readme = await readFile(join(quickstart, '../../README.md'), 'utf8');
  const screen = /^## What `make run` shows\n\n```\n(.*?)^```$/ms.exec(readme)![1]!;
  const { process } = await started('readme');
  await using _ = process;
  const url = await printedUrl(process, 'agents');
  // Where it runs, on which port and since when is this run's own; so are the folder's revision and the width of columns.
  const comparable = (text: string): string[] =>
    text
      .replaceAll(new URL(url).host, '127.0.0.1:8000')
      .replace(/^(Lyceum .*) of \S+, catalogue in \S+\./m, '$1 of FOLDER, catalogue in VOLUME.')
      .replace(/sha256:[0-9a-f]{64}/g, 'sha256:DIGEST')
      .replace(/ {2,}\d+s$/gm, '  0s')
      .replace(/ {2,}/g, '  ')
      .split('\n')
      .filter((line) => line !== '');
  await eventually(
    'every line of README.md',
    () => {
      const printed = comparable(process.output.join('\n'));
      return comparable(screen).filter((line) => !printed.includes(line));
    },
    (missing) => missing.length === 0,
  );
  await eventually('the library is served', () => read(url, 'skill://handbook'));

  const asked = [...readme.matchAll(/^curl -s (\S+) .*\\\n +-d '(.*)'$/gm)];
  const answers = await Promise.all(
    asked.map(async ([, to, body]) => {
      assert.equal(to, 'http://127.0.0.1:8000/mcp');
      const answer = await fetch(url, { method: 'POST', headers: { 'Content-Type': 'application/json' }, body: body! });
      return JSON.stringify(await answer.json());
    }),
  );
  const expected = [/# handbook — 4 skills/, /DiskFull fired twice/, /# Write for the night/, /You are the scribe/];
  assert.equal(answers.length, expected.length);
  for (const [at, words] of expected.entries()) assert.match(answers[at]!, words);
});

test('whoever is on this machine may ask for a look, and is answered when what it found is served', async () => {
  const { process, manifests } = await started('reindex');
  await using _ = process;
  const url = await printedUrl(process, 'agents');
  const manifest = join(manifests, 'lyceum.yaml');
  // Nobody looks at the folder by itself from then on.
  await writeFile(manifest, (await readFile(manifest, 'utf8')).replaceAll(/^ *refresh:.*\n/gm, ''));
  const skill = join(manifests, 'handbook/skills/review-a-change/SKILL.md');
  const text = await readFile(skill, 'utf8');
  for (const edition of ['first', 'second']) {
    await writeFile(skill, `${text}\nThe ${edition} edition.\n`);
    const answer = await fetch(new URL('/reindex', url), { method: 'POST' });
    // biome-ignore lint/suspicious/noExplicitAny: whatever the answer has
    const body = (await answer.json()) as any;
    assert.equal(answer.status, 200, JSON.stringify(body));
    assert.deepEqual(body.rebuilt, ['handbook', 'house-rules']);
    assert.equal(body.status, 'ok');
    assert.ok((await read(url, 'skill://handbook/review-a-change')).endsWith(`The ${edition} edition.\n`));
  }
  assert.equal((await fetch(new URL('/reindex', url))).status, 404);
});

test('a second run starts from what the first one harvested', async () => {
  const { process, manifests } = await started('twice');
  await using _ = process;
  await printedUrl(process, 'agents');
  await eventually(
    'the first harvest',
    () => process.output.join('\n'),
    (said) => /ContentChanged.*pack file/.test(said),
  );
  process.kill('SIGTERM');
  assert.equal(await process.ended(), 0);
  await using again = new LyceumProcess(['run', manifests, '--port', '0', '--volume', join(folder, 'twice-volume')]);
  const url = await printedUrl(again, 'agents');
  assert.match(await read(url, 'skill://handbook'), /^# handbook — 4 skills/);
  assert.doesNotMatch(again.output.join('\n'), /ContentChanged/);
});

test('as in a container, on every address: the URL that is printed is one that works', async () => {
  const args = ['run', quickstart, '--port', '0', '--volume', join(folder, 'everywhere-volume')];
  await using process = new LyceumProcess(args, { env: { LYCEUM_HOST: 'any' } });
  const url = await printedUrl(process, 'agents');
  assert.equal(new URL(url).hostname, '127.0.0.1');
  assert.equal((await fetch(new URL('/livez', url))).status, 200);
});

test('a second gateway gets a port of its own, and a gateway that is taken out is closed', async () => {
  const { process, manifests } = await started('gateways');
  await using _ = process;
  await printedUrl(process, 'agents');
  const more = join(manifests, 'more.yaml');
  await writeFile(
    more,
    'apiVersion: lyceum.dev/v1alpha1\nkind: SkillGateway\nmetadata: {name: writers}\nspec: {scope: {tags: [writing]}}\n',
  );
  const url = await printedUrl(process, 'writers');
  await eventually(
    'only what is tagged',
    () => read(url, 'skill://house-rules'),
    (got) => got.includes('house-style'),
  );
  await assert.rejects(read(url, 'skill://handbook'));
  await rm(more);
  await eventually('it is closed', () =>
    fetch(new URL('/livez', url)).then(
      () => false,
      () => true,
    ),
  );
});

test('a port in use is said with the remedy, and the exit status is not 0', async () => {
  const taken = createServer().listen(0, '127.0.0.1');
  await eventually('a taken port', () => taken.listening);
  const { port } = taken.address() as { port: number };
  await using process = new LyceumProcess([
    'run',
    quickstart,
    '--port',
    String(port),
    '--volume',
    join(folder, 'taken'),
  ]);
  assert.equal(await process.ended(), 1);
  assert.match(process.errors.join('\n'), new RegExp(`port ${port} is in use.*--port`));
  taken.close();
});

test('a further gateway whose port is in use is told, the first one is served on, and an edit tries again', async () => {
  const { taken, port } = await takenBehindFree();
  const manifests = join(folder, 'further');
  await cp(quickstart, manifests, { recursive: true });
  await using process = new LyceumProcess([
    ...['run', manifests, '--port', String(port - 1), '--volume', join(folder, 'further-volume')],
  ]);
  const url = await printedUrl(process, 'agents');
  const more = join(manifests, 'more.yaml');
  const writers = 'apiVersion: lyceum.dev/v1alpha1\nkind: SkillGateway\nmetadata: {name: writers}\nspec: {}\n';
  await writeFile(more, writers);
  await eventually('it is told', () => process.output.includes(`! SkillGateway writers: ${inUse(port)}`));
  assert.equal((await fetch(new URL('/livez', url))).status, 200);
  await new Promise((resolve) => taken.close(resolve));
  await writeFile(more, writers.replace('{}', '{instructions: Write well.}'));
  await printedUrl(process, 'writers');
});

/** A port that is in use, and the one before it is not. */
async function takenBehindFree(): Promise<{ taken: Server; port: number }> {
  for (;;) {
    const taken = createServer().listen(0, '127.0.0.1');
    await once(taken, 'listening');
    const { port } = taken.address() as { port: number };
    const before = createServer().listen(port - 1, '127.0.0.1');
    const free = await once(before, 'listening').then(
      () => true,
      () => false,
    );
    before.close();
    if (free) return { taken, port };
    taken.close();
  }
}

const inUse = (port: number): string => `port ${port} is in use: choose another with --port`;

test('a folder that is not there is said at once', async () => {
  await using process = new LyceumProcess(['run', join(folder, 'nowhere')]);
  assert.equal(await process.ended(), 1);
  assert.match(process.errors.join('\n'), /nowhere is not a folder/);
});

test('manifests without a gateway, problems of skills and sources that are missing are said on the screen', async () => {
  const manifests = join(folder, 'complaints');
  await cp(quickstart, manifests, { recursive: true });
  await writeFile(join(manifests, 'lyceum.yaml'), sourceManifest);
  await writeFile(
    join(manifests, 'handbook/skills/review-a-change/SKILL.md'),
    '---\nname: review-a-change\ndescription: Use when: it breaks\n---\nx\n',
  );
  await using process = new LyceumProcess([
    'run',
    manifests,
    '--port',
    '0',
    '--volume',
    join(folder, 'complaints-volume'),
  ]);
  const said = (what: RegExp): Promise<unknown> => eventually(String(what), () => what.test(process.output.join('\n')));
  await said(/^! no SkillGateway stands in the manifests/m);
  await said(/^! SkillSource handbook: skills\/review-a-change\/SKILL\.md:3: warning LenientYaml/m);
  await writeFile(join(manifests, 'gateway.yaml'), gatewayManifest);
  await said(/^! SkillGateway agents: SourcesMissing: not there: nobody/m);
});

const sourceManifest =
  'apiVersion: lyceum.dev/v1alpha1\nkind: SkillSource\nmetadata: {name: handbook}\nspec: {url: "file:///handbook"}\n';
const gatewayManifest =
  'apiVersion: lyceum.dev/v1alpha1\nkind: SkillGateway\nmetadata: {name: agents}\nspec: {sources: {names: [nobody]}}\n';

test('a volume that somebody else publishes to is not taken', async () => {
  const volume = join(folder, 'operators-volume');
  await mkdir(join(volume, 'gateways'), { recursive: true });
  await using process = new LyceumProcess(['run', quickstart, '--port', '0', '--volume', volume]);
  assert.equal(await process.ended(), 1);
  assert.match(process.errors.join('\n'), /holds the catalogue of an operator.*--volume/);
});
