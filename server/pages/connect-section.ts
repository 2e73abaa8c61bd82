// How to connect a client with what a page shows: what to copy, for each client that its readers use.
import {
  claudeCodeCommand,
  codexCommand,
  type Door,
  n8nEndpoint,
  npxSkillsCommand,
  tokenVariable,
  vsCodeFile,
} from '../connect.ts';
import { type Html, html, type Piece } from './html.ts';
import type { Visit } from './visit.ts';

/** Text to copy: it is selected as a whole, and has a button where scripts run. */
export function copyable(text: string, label: string): Html {
  return html`<span class="copyable"><code>${text}</code><button type="button" data-copy hidden aria-label="Copy ${label}">Copy</button></span>`;
}

export interface SkillToInstall {
  library: string;
  /** Left out: any of the library's. */
  name?: string;
}

/** @param skill what `npx skills` installs; left out: whatever it sees */
export function connectSection({ door, links }: Visit, skill?: SkillToInstall): Html {
  return html`<section id="connect" class="connect" aria-labelledby="connect-title">
<h2 id="connect-title">Connect an agent</h2>
<p>MCP over Streamable HTTP${door.closed && ', with a bearer token where TOKEN stands'}:</p>
${copyable(door.url, 'the address of the gateway')}
${client('Claude Code', undefined, copyable(claudeCodeCommand(door), 'the command for Claude Code'))}
${client('VS Code', html`In <code>.vscode/mcp.json</code>:`, copyable(vsCodeFile(door), 'the file for VS Code'))}
${client(
  'Codex',
  door.closed
    ? html`The token stands in the environment variable <code>${tokenVariable(door.gateway)}</code>:`
    : undefined,
  copyable(codexCommand(door), 'the command for Codex'),
)}
${client(
  'n8n',
  html`MCP Client Tool, HTTP Streamable${door.closed && ', authentication Bearer Auth'}, with this endpoint:`,
  copyable(n8nEndpoint(door), 'the endpoint for n8n'),
)}
${npxSkills(door, skill, links.scope)}
</section>`;
}

const client = (name: string, how: Piece, what: Piece): Html =>
  html`<details><summary>${name}</summary>${how !== undefined && html`<p>${how}</p>`}${what}</details>`;

function npxSkills(door: Door, skill: SkillToInstall | undefined, scope: URLSearchParams): Html {
  if (door.closed) {
    return client('npx skills', 'It sends no token, so it cannot use a gateway that asks for one.', undefined);
  }
  const command = npxSkillsCommand(door, skill?.library ?? scope.get('library') ?? undefined);
  return client(
    'npx skills',
    'Copies skills into the folders where coding agents look for them:',
    copyable(skill?.name === undefined ? command : `${command} --skill ${skill.name}`, 'the command for npx skills'),
  );
}
