// The commands of docs/clients, as they stand there, run by the programs that they name, on the quickstart.
import assert from 'node:assert/strict';
import { cp, mkdir, mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { before, describe, it } from 'node:test';
import { stripVTControlCharacters } from 'node:util';
import { codeBlocks, page, pages, repository } from '../docs/pages.ts';
import { eventually } from '../fixtures/eventually.ts';
import { lifetime } from '../server/support/gateway.ts';
import { get } from '../server/support/mcp.ts';
import { runLyceum } from './support/lyceum.ts';
import { program, runProgram } from './support/programs.ts';

/** Commands that no test runs, and that their page says so of. */
const notRun = ['codex'];

const token = 'a-token-for-the-pages';
const closed = `
apiVersion: lyceum.dev/v1alpha1
kind: SkillGateway
metadata: {name: closed}
spec: {auth: {tokens: {secretRef: {name: closed-tokens}}}}
---
apiVersion: v1
kind: Secret
metadata: {name: closed-tokens}
stringData: {claude: ${token}}
`;
const quickstart = join(repository, 'examples/quickstart');
const written = (await pages()).filter(({ path }) => path.startsWith('docs/clients/'));
const commandsOf = (path: string): string[] =>
  codeBlocks(written.find((one) => one.path === `docs/clients/${path}`)!)
    .filter(({ language }) => language === '')
    .map(({ text }) => text);

describe('the pages of clients', () => {
  const suite = lifetime();
  let urls: Record<'agents' | 'closed', string>;
  let programs: string;
  before(async () => {
    programs = await mkdtemp(join(tmpdir(), 'lyceum-pages-'));
    suite.after(() => rm(programs, { recursive: true, force: true }));
    // `npx` runs the version that is installed for the tests, in place of the newest one.
    const inspector = await program('inspector');
    const installed = `case $1 in\n*inspector@*) program=${inspector};;\n*) program=${repository}/node_modules/.bin/$1;;\nesac`;
    await writeFile(join(programs, 'npx'), `#!/bin/sh\n${installed}\nshift\nexec "$program" "$@"\n`, { mode: 0o755 });
    await symlink(await program('claude-code'), join(programs, 'claude'));
    urls = await runLyceum(suite, ['agents', 'closed'], async (manifests) => {
      await cp(quickstart, manifests, { recursive: true });
      await writeFile(join(manifests, 'closed.yaml'), closed);
    });
    for (const url of Object.values(urls)) {
      const headers = { authorization: `Bearer ${token}` };
      await eventually(`${url} serves the quickstart`, async () => {
        const { body } = await get(url.replace(/mcp$/, 'health'), headers);
        return body.libraries.length === 2;
      });
    }
  });

  /** Runs a block of a page, its address and token put in, in a home of its own. */
  async function run(block: string): Promise<{ output: string; home: string }> {
    const home = await mkdtemp(join(tmpdir(), 'lyceum-home-'));
    suite.after(() => rm(home, { recursive: true, force: true }));
    await mkdir(join(home, 'project'));
    const url = new URL(block.includes('TOKEN') ? urls.closed : urls.agents);
    const script = block.replaceAll('127.0.0.1:8000', url.host).replaceAll('TOKEN', token);
    const { code, output, errors } = await runProgram('bash', ['-e', '-o', 'pipefail', '-c', script], {
      cwd: join(home, 'project'),
      environment: {
        PATH: `${programs}:${process.env.PATH}`,
        HOME: home,
        DO_NOT_TRACK: '1',
        DISABLE_TELEMETRY: '1',
        CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: '1',
      },
    });
    assert.equal(code, 0, `${script}\n${output}\n${errors}`);
    return { output: stripVTControlCharacters(output), home: join(home, 'project') };
  }

  it('Claude Code connects, open and with a token', async () => {
    const blocks = commandsOf('claude-code.md');
    assert.equal(blocks.length, 2);
    for (const block of blocks) {
      const { output } = await run(block);
      assert.match(output, /^agents: http:\/\/127\.0\.0\.1:\d+\/mcp \(HTTP\) - ✔ Connected$/m);
    }
  });

  it('npx skills shows and installs what the quickstart has', async () => {
    const [one, library, ...others] = commandsOf('npx-skills.md');
    assert.deepEqual(others, []);
    const skill = async (root: string, name: string) => await readFile(join(root, name, 'SKILL.md'), 'utf8');
    const { output, home } = await run(one!);
    assert.match(output, /write-a-runbook/);
    assert.match(output, /house-style/);
    const author = join(quickstart, 'handbook/skills');
    assert.equal(await skill(join(home, '.claude/skills'), 'write-a-runbook'), await skill(author, 'write-a-runbook'));
    const all = await run(library!);
    const scribe = 'write-a-postmortem';
    assert.equal(await skill(join(all.home, '.claude/skills'), scribe), await skill(join(author, 'incident'), scribe));
    await assert.rejects(skill(join(all.home, '.claude/skills'), 'house-style'), { code: 'ENOENT' });
  });

  it('runs every other command, or says on the page that it is not run', async () => {
    const { text } = await page('docs/clients/README.md');
    for (const block of commandsOf('README.md')) {
      const name = block.split(' ')[0]!;
      if (notRun.includes(name)) {
        assert.match(text, new RegExp(`tests do not run ${name}`, 'i'));
        continue;
      }
      const { output } = await run(block);
      if (name === 'curl') assert.ok(JSON.parse(output).result, output);
      else assert.match(output, /"outcome":"verified"/, block);
    }
    for (const path of ['n8n.md', 'vs-code.md']) {
      assert.deepEqual(commandsOf(path), []);
      assert.match(written.find((one) => one.path === `docs/clients/${path}`)!.text, /itself is not run by the tests/);
    }
  });
});
