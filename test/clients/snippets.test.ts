// What `lyceum run` shows to be pasted into clients is what their pages say.
import assert from 'node:assert/strict';
import { it } from 'node:test';
import { clientSnippets } from '../../cli/run/screen.ts';
import { codeBlocks, page } from '../docs/pages.ts';

const url = 'http://127.0.0.1:8000/mcp';

/** What is printed for a client, and whatever stands before the text to paste cut off. */
function printed(client: string, tokens?: string): string {
  const line = clientSnippets('agents', url, tokens).find((one) => one.startsWith(`  ${client} `));
  assert.ok(line, client);
  return line.slice(16).replace(/^\.vscode\/mcp\.json: |^MCP Client Tool, HTTP Streamable, endpoint /, '');
}

const blocksOf = async (name: string) => codeBlocks(await page(`docs/clients/${name}`));
const linesOf = async (name: string) => (await blocksOf(name)).flatMap(({ text }) => text.split('\n'));

it('shows the commands of Claude Code and Codex, open and with a token', async () => {
  for (const tokens of [undefined, 'agents-tokens'])
    assert.ok((await linesOf('claude-code.md')).includes(printed('Claude Code', tokens)));
  assert.ok((await linesOf('README.md')).includes(printed('Codex')));
  const { text } = await page('docs/clients/README.md');
  const [command] = /codex mcp add agents --url URL --bearer-token-env-var AGENTS_TOKEN/.exec(text) ?? [];
  assert.equal(command?.replace('URL', url), printed('Codex', 'agents-tokens'));
});

it('shows VS Code’s file, whose header the page has VS Code ask for', async () => {
  const [open, closed] = (await blocksOf('vs-code.md')).map(({ text }) => JSON.parse(text));
  assert.deepEqual(JSON.parse(printed('VS Code')), open);
  const { agents } = JSON.parse(printed('VS Code', 'agents-tokens')).servers;
  const [input] = closed.inputs;
  assert.deepEqual(JSON.parse(JSON.stringify(closed.servers.agents).replace(`\${input:${input.id}}`, 'TOKEN')), agents);
});

it('shows n8n’s endpoint', async () => {
  const { text } = await page('docs/clients/n8n.md');
  assert.ok(text.includes(`| Endpoint | \`${printed('n8n')}\` |`));
  assert.equal(printed('n8n', 'agents-tokens'), `${printed('n8n')}, Bearer Auth`);
  assert.match(text, /\*Bearer Auth\* where the gateway has/);
});

it('shows how to have skills as files where no token is asked for, since that program sends none', async () => {
  assert.ok((await linesOf('npx-skills.md')).some((line) => line.startsWith(printed('files'))));
  assert.ok(!clientSnippets('agents', url, 'agents-tokens').join('\n').includes('npx skills'));
});
