// What `lyceum run` shows on standard output: tables when something changes, the URLs, what to paste into clients.
import type { KubernetesObject } from '../../operator/kubernetes/cluster.ts';
import { columnsOf } from '../../operator/resources/crd.ts';
import { type AgedObject, table } from './table.ts';

/** Tables of all sources and gateways, as `kubectl get sksrc,skgw` prints them. */
export function statusTables(sources: readonly AgedObject[], gateways: readonly AgedObject[]): string[] {
  const [above, below] = [table(columnsOf('SkillSource'), sources), table(columnsOf('SkillGateway'), gateways)];
  return above.length > 0 && below.length > 0 ? [...above, '', ...below] : [...above, ...below];
}

/** The status without its times, to tell a change that a person wants to see. */
export const visibleState = (objects: readonly KubernetesObject[]): string =>
  JSON.stringify(objects.map(({ metadata, spec, status }) => [metadata.name, spec, status]));

/** What to do with a gateway's URL. */
export function clientSnippets(gateway: string, url: string): string[] {
  return [
    `Gateway "${gateway}" serves MCP at ${url}`,
    '',
    `  Claude Code   claude mcp add --transport http ${gateway} ${url}`,
    `  VS Code       .vscode/mcp.json: {"servers": {"${gateway}": {"type": "http", "url": "${url}"}}}`,
    `  Codex         codex mcp add ${gateway} --url ${url}`,
    `  n8n           MCP Client Tool, HTTP Streamable, endpoint ${url}?resources=off`,
    `  one library   ${url}?library=NAME`,
    `  health        ${new URL('/health', url).href}`,
  ];
}
