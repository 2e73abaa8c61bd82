// openkata's vocabulary, spoken by the SDK's clients of both lines: what its agents call is there, and what they get is whole.
import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { readdir, truncate } from 'node:fs/promises';
import { join } from 'node:path';
import { before, describe, it } from 'node:test';
import { sourceFolder } from '../../catalogue/layout.ts';
import type { RunningServer } from '../../server/server.ts';
import { type AnyClient, clients } from './support/clients.ts';
import {
  type CatalogueFixture,
  GatewayFixture,
  lifetime,
  namespace,
  type SkillFixture,
  serve,
  serveCatalogue,
  skillText,
  until,
} from './support/gateway.ts';
import { call, callTool } from './support/mcp.ts';

const revision = 'main@sha1:0123456789012345678901234567890123456789';
const logo = Uint8Array.from([0x89, 0x50, 0x4e, 0x47, 0xff, 0x00]);
const withBom = '\ufeffone\r\ntwo\n';

const script = '#!/bin/sh\necho why\n';
const grillMe: SkillFixture = {
  address: 'grill-me',
  version: '1.10.0',
  description: 'Challenge a plan, spec, ADR, or design.',
  tags: ['category:review', 'category:architecture'],
  files: {
    'scripts/ask.sh': script,
    'logo.png': logo,
    'notes/bom.txt': withBom,
    'empty.txt': '',
    'CHANGELOG.md': 'changes',
    'RATIONALE.md': 'reasons',
    'tile.json': '{}',
    'references/ACKNOWLEDGMENTS.md': 'thanks',
    'references/other.md': 'kept',
    'evals/scenario/task.md': 'a task',
    'notes/CHANGELOG.md': 'kept as well',
    'notes/evals/one.md': 'kept too',
  },
  older: [
    { version: '1.9.0', description: 'Challenge a plan.', files: { 'scripts/ask.sh': 'echo how\n' } },
    { version: '1.0.0-rc.1', files: {} },
  ],
};

const tree: CatalogueFixture = {
  sources: [
    {
      name: 'kata',
      revision,
      skills: [
        { address: 'zen', description: 'Sit.' },
        grillMe,
        { address: 'shared', description: 'Of the kata.', tags: ['both'] },
      ],
      rules: [
        { address: 'commit-style', version: '2.0.0', main: 'RULE.md', tags: ['git'], older: [{ version: '1.0.0' }] },
      ],
      profiles: [{ address: 'reviewer', version: '0.3.0', description: 'Reviews.', files: { 'faces/me.png': logo } }],
    },
    {
      name: 'other',
      tags: ['second'],
      skills: [{ address: 'shared', version: '7.0.0', description: 'Of the other.' }],
    },
  ],
};

const nine = [
  'list_skills',
  'list_rules',
  'list_profiles',
  'install_skill',
  'install_rule',
  'install_profile',
  'skill_versions',
  'rule_versions',
  'profile_versions',
];

const sha256 = (bytes: string | Uint8Array): string => `sha256:${createHash('sha256').update(bytes).digest('hex')}`;

for (const [line, connect] of Object.entries(clients)) {
  describe(`openkata's tools, called by the SDK's client, ${line}`, () => {
    const suite = lifetime();
    let server: RunningServer;
    before(async () => {
      server = await serveCatalogue(suite, tree);
    });

    async function using<T>(work: (client: AnyClient) => Promise<T>, query = '?artifacts=on'): Promise<T> {
      const client = await connect(new URL(`${server.url}/mcp${query}`));
      try {
        return await work(client);
      } finally {
        await client.close();
      }
    }
    const answer = (name: string, args: Record<string, unknown> = {}, query?: string) =>
      using((client) => client.callTool({ name, arguments: args }), query);
    const json = async (name: string, args: Record<string, unknown> = {}, query?: string) => {
      const { isError, content } = await answer(name, args, query);
      assert.equal(isError, undefined, content[0].text);
      assert.equal(content.length, 1);
      return JSON.parse(content[0].text);
    };
    const failure = async (name: string, args: Record<string, unknown>, query?: string): Promise<string> => {
      const { isError, content } = await answer(name, args, query);
      assert.equal(isError, true, content[0].text);
      return content[0].text;
    };

    it('are nine, shown to who asks for them, and callable always', async () => {
      const shown = (query: string) =>
        using(async (client) => (await client.listTools()).tools.map(({ name }) => name), query);
      assert.deepEqual(await shown('?artifacts=on'), nine);
      assert.deepEqual(await shown(''), []);
      assert.equal((await json('list_skills', {}, '')).length, 4);
    });

    it('list_skills, list_rules and list_profiles: an indented array of rows, sorted by name', async () => {
      const { content } = await answer('list_skills');
      assert.match(content[0].text, /^\[\n {2}\{\n {4}"name": "grill-me",\n/);
      assert.deepEqual(JSON.parse(content[0].text), [
        {
          name: 'grill-me',
          version: '1.10.0',
          description: 'Challenge a plan, spec, ADR, or design.',
          tags: 'category:review, category:architecture',
          downloads: 0,
        },
        { name: 'kata/shared', version: '0.0.0', description: 'Of the kata.', tags: 'both', downloads: 0 },
        { name: 'other/shared', version: '7.0.0', description: 'Of the other.', downloads: 0 },
        { name: 'zen', version: '0.0.0', description: 'Sit.', downloads: 0 },
      ]);
      assert.deepEqual(await json('list_rules'), [
        { name: 'commit-style', version: '2.0.0', description: '', tags: 'git', downloads: 0 },
      ]);
      assert.deepEqual(await json('list_profiles'), [
        { name: 'reviewer', version: '0.3.0', description: 'Reviews.', downloads: 0 },
      ]);
    });

    it('tag: one tag, exact, case-sensitive, over what authors wrote; no match is an empty array', async () => {
      const names = async (tag: unknown, query?: string) =>
        (await json('list_skills', { tag }, query)).map(({ name }: { name: string }) => name);
      assert.deepEqual(await names('category:review'), ['grill-me']);
      assert.deepEqual(await names('category:architecture'), ['grill-me']);
      for (const none of ['review', 'Category:Review', 'category:review,category:architecture', ' both', 'kata']) {
        assert.deepEqual(await names(none), [], none);
      }
      assert.deepEqual(await names(''), await names(undefined));
      assert.equal((await answer('list_skills', { tag: 'nothing' })).content[0].text, '[]');
      assert.equal((await answer('list_rules', {}, '?artifacts=on&library=nowhere')).content[0].text, '[]');
      assert.match(await failure('list_skills', { tag: ['both'] }), /`tag` .* one tag/);
    });

    it('install_skill: the newest version, its files inline, and a manifest with the digest of every one', async () => {
      const before = Date.now();
      const { manifest, files, blobs, ...rest } = await json('install_skill', { skill: 'grill-me' });
      assert.deepEqual(rest, { name: 'grill-me', version: '1.10.0' });
      const text = skillText(grillMe);
      assert.deepEqual(files, {
        'SKILL.md': text,
        'empty.txt': '',
        'notes/CHANGELOG.md': 'kept as well',
        'notes/bom.txt': withBom,
        'notes/evals/one.md': 'kept too',
        'references/other.md': 'kept',
        'scripts/ask.sh': script,
      });
      assert.deepEqual(blobs, { 'logo.png': Buffer.from(logo).toString('base64') });
      const { installedAt, checksums, ...told } = manifest;
      assert.deepEqual(told, { name: 'grill-me', version: '1.10.0', source: `kata@${revision}` });
      assert.deepEqual(checksums, {
        ...Object.fromEntries(Object.entries<string>(files).map(([path, content]) => [path, sha256(content)])),
        'logo.png': sha256(logo),
      });
      assert.match(installedAt, /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z$/);
      assert.ok(Date.parse(installedAt) >= before - 1000 && Date.parse(installedAt) <= Date.now());
    });

    it('install_skill with a version: the files of that one, and the manifest says which', async () => {
      const { version, manifest, files, blobs } = await json('install_skill', { skill: 'grill-me', version: '1.9.0' });
      assert.equal(version, '1.9.0');
      assert.equal(manifest.version, '1.9.0');
      assert.equal(files['scripts/ask.sh'], 'echo how\n');
      assert.match(files['SKILL.md'], /description: Challenge a plan\.\n/);
      assert.deepEqual(blobs, {});
      assert.deepEqual(
        await json('install_skill', { skill: 'grill-me', version: '' }).then(({ version }) => version),
        '1.10.0',
      );
    });

    it('install_rule and install_profile: the same of those', async () => {
      const rule = await json('install_rule', { rule: 'commit-style' });
      assert.deepEqual(Object.keys(rule.files), ['RULE.md']);
      assert.equal(rule.manifest.checksums['RULE.md'], sha256(rule.files['RULE.md']));
      assert.equal((await json('install_rule', { rule: 'kata/commit-style', version: '1.0.0' })).version, '1.0.0');
      const profile = await json('install_profile', { profile: 'reviewer' });
      assert.deepEqual(Object.keys(profile.files), ['reviewer.md']);
      assert.deepEqual(Object.keys(profile.blobs), ['faces/me.png']);
    });

    it('an install that cannot be says why: what is missing, not found, no such version', async () => {
      assert.match(await failure('install_skill', {}), /needs `skill`/);
      assert.match(await failure('install_rule', { rule: '' }), /needs `rule`/);
      assert.match(await failure('install_profile', { profile: 7 }), /needs `profile`/);
      assert.match(await failure('install_skill', { skill: 'x' }), /^skill "x" not found/);
      assert.match(await failure('install_rule', { rule: 'grill-me' }), /^rule "grill-me" not found/);
      assert.match(
        await failure('install_skill', { skill: 'grill-me', version: '9.9.9' }),
        /^version 9\.9\.9 not found for grill-me/,
      );
      assert.match(await failure('install_skill', { skill: 'grill-me', version: '1.9' }), /^version 1\.9 not found/);
      assert.match(await failure('install_skill', { skill: 'grill-me', version: 1 }), /`version` .* a text/);
    });

    it('skill_versions, rule_versions and profile_versions: from the oldest to the newest', async () => {
      assert.deepEqual(await json('skill_versions', { skill: 'grill-me' }), ['1.0.0-rc.1', '1.9.0', '1.10.0']);
      assert.deepEqual(await json('rule_versions', { rule: 'commit-style' }), ['1.0.0', '2.0.0']);
      assert.deepEqual(await json('profile_versions', { profile: 'reviewer' }), ['0.3.0']);
      assert.match(await failure('skill_versions', { skill: 'x' }), /^skill "x" not found/);
      assert.match(await failure('rule_versions', {}), /needs `rule`/);
    });

    it('a bare name that two libraries hold is an error that lists them; with the library it is one', async () => {
      const said = await failure('install_skill', { skill: 'shared' });
      assert.match(said, /kata\/shared and other\/shared/);
      assert.match(await failure('skill_versions', { skill: 'shared' }), /kata\/shared and other\/shared/);
      const { name, manifest, files } = await json('install_skill', { skill: 'other/shared' });
      assert.equal(name, 'other/shared');
      assert.equal(manifest.name, 'shared');
      assert.match(files['SKILL.md'], /Of the other/);
      assert.deepEqual(await json('skill_versions', { skill: 'kata/shared' }), ['0.0.0']);
      assert.match(await failure('install_skill', { skill: 'kata/nothing' }), /^skill "kata\/nothing" not found/);
      assert.match(await failure('install_skill', { skill: 'shared/kata' }), /^skill "shared\/kata" not found/);
    });

    it('the scope narrows first: a name is bare where one library in scope has it', async () => {
      for (const query of ['?artifacts=on&library=other', '?artifacts=on&tags=second']) {
        const rows = await json('list_skills', {}, query);
        assert.deepEqual(
          rows.map(({ name }: { name: string }) => name),
          ['shared'],
        );
        const one = await json('install_skill', { skill: 'shared' }, query);
        assert.deepEqual([one.name, one.version], ['shared', '7.0.0']);
        assert.equal((await json('install_skill', { skill: 'other/shared' }, query)).name, 'shared');
        assert.match(
          await failure('install_skill', { skill: 'kata/shared' }, query),
          /^skill "kata\/shared" not found/,
        );
        assert.match(await failure('skill_versions', { skill: 'grill-me' }, query), /^skill "grill-me" not found/);
      }
    });
  });
}

describe("openkata's tools", () => {
  const shownBy = async (url: string, query: string, headers: Record<string, string> = {}): Promise<number> =>
    (await call(url, 'tools/list', {}, { query, headers })).body.result.tools.length;

  it('are shown for the on-words alone, by URL or header, the header first', async (test) => {
    const { url } = await serveCatalogue(test, tree);
    for (const word of ['on', 'ON', 'true', '1', 'Yes'])
      assert.equal(await shownBy(url, `?artifacts=${word}`), 9, word);
    for (const word of ['', 'off', 'maybe', '0', 'none'])
      assert.equal(await shownBy(url, `?artifacts=${word}`), 0, word);
    assert.equal(await shownBy(url, '', { 'X-MCP-Artifacts': 'on' }), 9);
    assert.equal(await shownBy(url, '?artifacts=on', { 'X-MCP-Artifacts': 'off' }), 0);
    assert.equal(await shownBy(url, '?artifacts=on&resources=off&prompts=off'), 13);
  });

  it('have schemas and names that every client takes', async (test) => {
    const { url } = await serveCatalogue(test, tree);
    const { tools } = (await call(url, 'tools/list', {}, { query: '?artifacts=on' })).body.result;
    for (const { name, description, inputSchema, annotations, outputSchema } of tools) {
      assert.match(name, /^[a-z_]{1,30}$/);
      assert.ok(description.length > 20 && description.length < 512, name);
      assert.equal(outputSchema, undefined);
      assert.equal(inputSchema.type, 'object');
      for (const property of Object.values<{ type: string; description: string }>(inputSchema.properties)) {
        assert.equal(property.type, 'string');
        assert.ok(property.description.length > 0);
      }
      assert.equal(annotations.readOnlyHint, true);
    }
    assert.match(tools[0].inputSchema.properties.tag.description, /one tag.*upper and lower case/);
    assert.deepEqual(tools[3].inputSchema.required, ['skill']);
    assert.deepEqual(tools[7].inputSchema.required, ['rule']);
  });

  it('pass over arguments that they do not know', async (test) => {
    const { url } = await serveCatalogue(test, tree);
    const { result } = (await callTool(url, 'skill_versions', { skill: 'zen', toolCallId: 'call_1' })).body;
    assert.equal(result.content[0].text, '["0.0.0"]');
  });

  it('count each install, over all versions, and show it in the lists of every scope', async (test) => {
    const { url } = await serveCatalogue(test, tree);
    const downloads = async (query = ''): Promise<Record<string, number>> => {
      const { result } = (await callTool(url, 'list_skills', {}, { query })).body;
      const rows: { name: string; downloads: number }[] = JSON.parse(result.content[0].text);
      return Object.fromEntries(rows.map((row) => [row.name, row.downloads]));
    };
    await callTool(url, 'install_skill', { skill: 'grill-me' });
    await callTool(url, 'install_skill', { skill: 'kata/grill-me', version: '1.9.0' });
    await callTool(url, 'install_skill', { skill: 'other/shared' });
    await callTool(url, 'install_skill', { skill: 'grill-me', version: '9.9.9' });
    await callTool(url, 'skill_versions', { skill: 'zen' });
    assert.deepEqual(await downloads(), { 'grill-me': 2, 'kata/shared': 0, 'other/shared': 1, zen: 0 });
    assert.deepEqual(await downloads('?library=other'), { shared: 1 });
  });

  it('are told by metrics: an install is a read and a download', async (test) => {
    const { url, metricsUrl } = await serveCatalogue(test, tree, { metricsPort: 0 });
    await callTool(url, 'install_rule', { rule: 'commit-style' });
    await callTool(url, 'install_rule', { rule: 'nothing' });
    const metrics = await (await fetch(`${metricsUrl}/metrics`)).text();
    assert.match(metrics, /^lyceum_reads_total\{kind="rule",library="kata"\} 1$/m);
    assert.match(metrics, /^lyceum_downloads_total\{kind="rule",library="kata",what="install"\} 1$/m);
  });

  it('give everything or say what is missing: nothing of an install whose content cannot be read', async (test) => {
    const gateway = await GatewayFixture.create(test);
    await gateway.publish(tree);
    const { url } = await serve(test, gateway);
    const folder = join(gateway.root, sourceFolder(namespace, 'kata'), 'segments');
    for (const name of await readdir(folder)) if (name.endsWith('.segment')) await truncate(join(folder, name), 0);
    const { result } = (await callTool(url, 'install_skill', { skill: 'grill-me' })).body;
    assert.equal(result.isError, true);
    assert.equal(result.content.length, 1);
    assert.match(result.content[0].text, /^read files: SKILL\.md of grill-me 1\.10\.0 cannot be read at the moment/);
    assert.doesNotMatch(result.content[0].text, /sha256|segment|Instructions/);
    const rows = JSON.parse((await callTool(url, 'list_skills')).body.result.content[0].text);
    assert.equal(rows[0].downloads, 0, 'what was not given is not counted');
    assert.equal((await callTool(url, 'install_skill', { skill: 'other/shared' })).body.result.isError, undefined);
  });

  it('install all of 1,500 files', async (test) => {
    const files = Object.fromEntries(Array.from({ length: 1500 }, (_, at) => [`data/${at}.txt`, `file ${at}`]));
    const { url } = await serveCatalogue(test, { sources: [{ name: 'kata', skills: [{ address: 'many', files }] }] });
    const install = JSON.parse((await callTool(url, 'install_skill', { skill: 'many' })).body.result.content[0].text);
    assert.equal(Object.keys(install.files).length, 1501);
    assert.equal(Object.keys(install.manifest.checksums).length, 1501);
    assert.equal(install.files['data/1499.txt'], 'file 1499');
  });

  it('say where the archive is of what is too large for an answer', async (test) => {
    const megabyte = 'x'.repeat(2 ** 20);
    const files = Object.fromEntries(Array.from({ length: 17 }, (_, at) => [`${at}.txt`, megabyte + at]));
    const older = [
      { version: '1.0.0+a', files: { ...files, 'CHANGELOG.md': megabyte } },
      { version: '0.9.0', files: {} },
    ];
    const skills = [{ address: 'large', version: '2.0.0', files, older }];
    const { url } = await serveCatalogue(test, { sources: [{ name: 'kata', skills }] });
    const said = async (version: string) =>
      (await callTool(url, 'install_skill', { skill: 'large', version })).body.result;
    const { isError, content } = await said('1.0.0+a');
    assert.equal(isError, true);
    assert.match(
      content[0].text,
      /large 1\.0\.0\+a is larger than .* 16 MiB.*\/skills\/kata\/large\/archive\/1\.0\.0%2Ba /,
    );
    const archive = await fetch(url + /\/skills\S+/.exec(content[0].text)![0]);
    assert.equal(archive.status, 200);
    const { length } = new Uint8Array(await archive.arrayBuffer());
    assert.ok(length > 17 * 2 ** 20 && length < 18 * 2 ** 20, `${length}, without what is for authors`);
    assert.equal((await said('0.9.0')).isError, undefined);
  });

  it('say so too of what is too large as it is sent, such as texts of quotes or control characters', async (test) => {
    const of = (count: number, character: string) =>
      Object.fromEntries(Array.from({ length: count }, (_, at) => [`${at}.txt`, character.repeat(2 ** 20)]));
    const older = [
      { version: '2.0.0', files: of(7, '"') },
      { version: '1.0.0', files: of(3, '\0') },
    ];
    const skills = [{ address: 'large', version: '3.0.0', files: of(4, '\0'), older }];
    const { url } = await serveCatalogue(test, { sources: [{ name: 'kata', skills }] });
    const said = async (version: string) =>
      (await callTool(url, 'install_skill', { skill: 'large', version })).body.result;
    for (const version of ['2.0.0', '3.0.0']) {
      const { isError, content } = await said(version);
      assert.equal(isError, true);
      assert.match(content[0].text, /large \S+ is larger .*\/skills\/kata\/large\/archive\/[23]\.0\.0 /);
    }
    assert.equal(JSON.parse((await said('1.0.0')).content[0].text).files['2.txt'], '\0'.repeat(2 ** 20));
    const rows = JSON.parse((await callTool(url, 'list_skills')).body.result.content[0].text);
    assert.equal(rows[0].downloads, 1, 'what was not given is not counted');
  });

  it('take file names as they are, the strangest too', async (test) => {
    const names = ['__proto__', 'constructor', 'a b#%41?.md', '</script>', 'é/ü.txt', '7'];
    const skills = [{ address: 'odd', files: Object.fromEntries(names.map((name) => [name, 'x'])) }];
    const { url } = await serveCatalogue(test, { sources: [{ name: 'kata', skills }] });
    const { text } = (await callTool(url, 'install_skill', { skill: 'odd' })).body.result.content[0];
    const install = JSON.parse(text);
    assert.deepEqual(Object.keys(install.files).sort(), ['SKILL.md', ...names].sort());
    assert.equal(Object.hasOwn(install.manifest.checksums, '__proto__'), true);
  });

  it('sort a list by the names in it, not by library', async (test) => {
    const { url } = await serveCatalogue(test, {
      sources: [
        { name: 'alpha', skills: [{ address: 'zen' }, { address: 'mine' }] },
        { name: 'beta', skills: [{ address: 'ask' }, { address: 'mine' }] },
      ],
    });
    const rows = JSON.parse((await callTool(url, 'list_skills')).body.result.content[0].text);
    const names = rows.map(({ name }: { name: string }) => name);
    assert.deepEqual(names, ['alpha/mine', 'ask', 'beta/mine', 'zen']);
  });

  it('list thousands of one name as fast as thousands of many, where thousands out of scope have it too', async (test) => {
    const skills = (name: (at: number) => string): SkillFixture[] =>
      Array.from({ length: 4000 }, (_, at) => ({ address: `kata--q${at}/${name(at)}` }));
    const listing = async (name: (at: number) => string): Promise<number> => {
      const sources = ['a', 'b'].map((library) => ({ name: library, skills: skills(name) }));
      const { url } = await serveCatalogue(test, { sources });
      const before = process.threadCpuUsage();
      const { body } = await callTool(url, 'list_skills', {}, { query: '?library=b' });
      assert.equal(JSON.parse(body.result.content[0].text).length, 4000);
      return process.threadCpuUsage(before).user / 1000;
    };
    const many = await listing((at) => `s${at}`);
    const one = await listing(() => 'same');
    assert.ok(one < 3 * many + 100, `${one} ms, against ${many} ms`);
  });

  it('take a comma as what parts tags, wherever it stands', async (test) => {
    const skills = [{ address: 'zen', tags: ['calm', 'one, two'] }];
    const { url } = await serveCatalogue(test, { sources: [{ name: 'kata', skills }] });
    const found = async (tag: string): Promise<number> =>
      JSON.parse((await callTool(url, 'list_skills', { tag })).body.result.content[0].text).length;
    for (const tag of ['calm', 'one', 'two']) assert.equal(await found(tag), 1, tag);
    assert.equal(await found('one, two'), 0);
  });

  it('name at most twenty of those who share a name', async (test) => {
    const sources = Array.from({ length: 30 }, (_, at) => ({ name: `lib${100 + at}`, skills: [{ address: 'same' }] }));
    const { url } = await serveCatalogue(test, { sources });
    const { text } = (await callTool(url, 'install_skill', { skill: 'same' })).body.result.content[0];
    assert.match(text, /lib100\/same, .*lib119\/same and 10 more\./);
    const long = (await callTool(url, 'install_skill', { skill: 'x'.repeat(100_000) })).body.result.content[0].text;
    assert.ok(long.length < 1000);
  });

  it('reach the one that moved by its whole name, and by the bare one where it is alone in scope', async (test) => {
    const { url } = await serveCatalogue(test, {
      sources: [
        { name: 'first', library: 'kata', tags: ['a'], skills: [{ address: 'same', description: 'One.' }] },
        {
          name: 'second',
          library: 'kata',
          tags: ['b'],
          skills: [{ address: 'same', description: 'Two.', version: '2.0.0', older: [{ version: '1.0.0' }] }],
          moves: [{ kind: 'skill', from: 'same', to: 'second--skills-same/same' }],
        },
      ],
    });
    const text = async (name: string, args = {}, query = ''): Promise<string> =>
      (await callTool(url, name, args, { query })).body.result.content[0].text;
    const names = async (query = '') =>
      JSON.parse(await text('list_skills', {}, query)).map(({ name }: { name: string }) => name);
    assert.deepEqual(await names(), ['kata/same', 'kata/second--skills-same/same']);
    assert.deepEqual(await names('?tags=b'), ['same']);
    assert.match(await text('skill_versions', { skill: 'same' }), /kata\/same and kata\/second--skills-same\/same/);
    const moved = { skill: 'kata/second--skills-same/same' };
    assert.equal(await text('skill_versions', moved), '["1.0.0","2.0.0"]');
    assert.equal(await text('skill_versions', { skill: 'same' }, '?tags=b'), '["1.0.0","2.0.0"]');
    assert.match(await text('install_skill', moved), /Two\./);
    assert.match(await text('install_skill', { skill: 'kata/same' }), /One\./);
  });

  it('tell of a new version and install it as soon as the catalogue has it, both at once', async (test) => {
    const gateway = await GatewayFixture.create(test);
    const skill = { address: 'zen', version: '1.0.0' };
    await gateway.publish({ sources: [{ name: 'kata', skills: [skill] }] });
    const { url } = await serve(test, gateway);
    const text = async (name: string, args = {}): Promise<string> =>
      (await callTool(url, name, args)).body.result.content[0].text;
    assert.match(await text('install_skill', { skill: 'zen', version: '1.1.0' }), /not found/);
    await gateway.publish({ sources: [{ name: 'kata', skills: [{ ...skill, version: '1.1.0', older: [skill] }] }] });
    await until('the new version is listed', async () => JSON.parse(await text('list_skills'))[0].version === '1.1.0');
    assert.equal(await text('skill_versions', { skill: 'zen' }), '["1.0.0","1.1.0"]');
    assert.equal(JSON.parse(await text('install_skill', { skill: 'zen' })).version, '1.1.0');
    assert.equal(JSON.parse(await text('install_skill', { skill: 'zen', version: '1.0.0' })).version, '1.0.0');
  });
});

describe('addresses and lists of an artifact with several versions', () => {
  it('speak of the newest alone', async (test) => {
    const { url } = await serveCatalogue(test, tree);
    const read = async (uri: string) => (await call(url, 'resources/read', { uri })).body.result.contents[0].text;
    assert.equal(await read('skill://kata/grill-me'), skillText(grillMe));
    assert.equal(await read('skill://kata/grill-me/scripts/ask.sh'), script);
    assert.match(await read('skill://kata'), /^# kata — 3 skills\n/);
    const { skills } = (await call(url, 'skills/list')).body.result;
    assert.equal(skills.filter(({ uri }: { uri: string }) => uri.includes('grill-me')).length, 1);
  });
});
