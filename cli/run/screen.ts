// What `lyceum run` shows on standard output: tables when something changes, the URLs, what to paste into clients.
import { catalogueIsPublished } from '../../operator/gateway/gateway-status.ts';
import type { KubernetesObject } from '../../operator/kubernetes/cluster.ts';
import { conditionOf } from '../../operator/reconcile/conditions.ts';
import { columnsOf } from '../../operator/resources/crd.ts';
import type { SkillSourceStatus } from '../../operator/resources/skill-source.ts';
import { printable } from '../../operator/source/path.ts';
import {
  claudeCodeCommand,
  codexCommand,
  n8nEndpoint,
  npxSkillsCommand,
  tokenVariable,
  vsCodeFile,
} from '../../server/connect.ts';
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
  const complaints = [...sources.flatMap(problemsOf), ...gateways.flatMap(gatewayComplaints)];
  if (gateways.length > 0) return complaints;
  return [...complaints, 'no SkillGateway stands in the manifests, so nothing is served: see docs/gateways.md'];
}

function problemsOf({ metadata, status }: KubernetesObject): string[] {
  const { problems = [], counts } = (status ?? {}) as Partial<SkillSourceStatus>;
  const shown = problems.slice(0, shownProblems).map(({ path, line, severity, reason, message }) => {
    const place = line === undefined ? path : `${path}:${line}`;
    return printable(`SkillSource ${metadata.name}: ${place}: ${severity} ${reason}: ${message}`);
  });
  const more = (counts?.problems ?? 0) - shown.length;
  return more > 0 ? [...shown, `SkillSource ${metadata.name}: ${more} more problems, see lyceum check`] : shown;
}

function gatewayComplaints({ metadata, status }: KubernetesObject): string[] {
  const [ready, sources] = [conditionOf(status, 'Ready'), conditionOf(status, 'SourcesReady')];
  const said = [
    ...(ready?.status === 'False' ? [`${ready.reason}: ${ready.message}`] : []),
    ...(ready?.status === 'True' && ready.message !== catalogueIsPublished ? [ready.message] : []),
    ...(sources?.status === 'False' ? [`${sources.reason}: ${sources.message}`] : []),
  ];
  return said.map((text) => `SkillGateway ${metadata.name}: ${text}`);
}

/** What to do with a gateway's URL. @param tokens the Secret of its bearer tokens; absent where it is open */
export function clientSnippets(gateway: string, url: string, tokens?: string): string[] {
  const closed = tokens !== undefined;
  const door = { gateway, url, closed };
  return [
    `Gateway "${gateway}" serves MCP at ${url}`,
    ...(closed
      ? [
          `  It asks for a bearer token: write a value of Secret "${tokens}" where TOKEN stands.`,
          `  For Codex it stands in the environment variable ${tokenVariable(gateway)}; a browser takes it as the password.`,
        ]
      : []),
    '',
    `  Claude Code   ${claudeCodeCommand(door)}`,
    `  VS Code       .vscode/mcp.json: ${vsCodeFile(door)}`,
    `  Codex         ${codexCommand(door)}`,
    `  n8n           MCP Client Tool, HTTP Streamable, endpoint ${n8nEndpoint(door)}${closed ? ', Bearer Auth' : ''}`,
    // It sends no token.
    ...(closed ? [] : [`  files         ${npxSkillsCommand(door)}`]),
    `  one library   ${url}?library=NAME`,
    `  web page      ${new URL('/', url).href}`,
    `  health        ${new URL('/health', url).href}`,
  ];
}
