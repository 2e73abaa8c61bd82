// What `lyceum run` shows on standard output: tables when something changes, the URLs, what to paste into clients.
import type { KubernetesObject } from '../../operator/kubernetes/cluster.ts';
import { conditionOf } from '../../operator/reconcile/conditions.ts';
import { columnsOf } from '../../operator/resources/crd.ts';
import type { SkillSourceStatus } from '../../operator/resources/skill-source.ts';
import { type AgedObject, table } from './table.ts';

/** Tables of all sources and gateways, as `kubectl get sksrc,skgw` prints them. */
export function statusTables(sources: readonly AgedObject[], gateways: readonly AgedObject[]): string[] {
  const [above, below] = [table(columnsOf('SkillSource'), sources), table(columnsOf('SkillGateway'), gateways)];
  return above.length > 0 && below.length > 0 ? [...above, '', ...below] : [...above, ...below];
}

/** The status without its times, to tell a change that a person wants to see. */
export const visibleState = (objects: readonly KubernetesObject[]): string =>
  JSON.stringify(objects.map(({ metadata, spec, status }) => [metadata.name, spec, status]));

/** Problems of one source that are shown; `lyceum check` prints all. */
const shownProblems = 10;

/** What a person should mend: problems of files, gateways without sources, manifests without a gateway. */
export function complaintsOf(sources: readonly KubernetesObject[], gateways: readonly KubernetesObject[]): string[] {
  const complaints = [...sources.flatMap(problemsOf), ...gateways.flatMap(sourcesNotReady)];
  if (gateways.length > 0) return complaints;
  return [...complaints, 'no SkillGateway stands in the manifests, so nothing is served: see docs/gateways.md'];
}

function problemsOf({ metadata, status }: KubernetesObject): string[] {
  const { problems = [], counts } = (status ?? {}) as Partial<SkillSourceStatus>;
  const shown = problems.slice(0, shownProblems).map(({ path, line, severity, reason, message }) => {
    const place = line === undefined ? path : `${path}:${line}`;
    return `SkillSource ${metadata.name}: ${place}: ${severity} ${reason}: ${message}`;
  });
  const more = (counts?.problems ?? 0) - shown.length;
  return more > 0 ? [...shown, `SkillSource ${metadata.name}: ${more} more problems, see lyceum check`] : shown;
}

function sourcesNotReady({ metadata, status }: KubernetesObject): string[] {
  const condition = conditionOf(status, 'SourcesReady');
  return condition?.status === 'False'
    ? [`SkillGateway ${metadata.name}: ${condition.reason}: ${condition.message}`]
    : [];
}

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
