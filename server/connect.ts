// What to paste into clients to connect them with a gateway: said by its pages and by `lyceum run` alike.
import { encodePath } from '../catalogue/address.ts';

export interface Door {
  gateway: string;
  /** URL of /mcp, with its query where it narrows. */
  url: string;
  /** Whether it asks for a bearer token. */
  closed: boolean;
}

/** Where a client's own token goes. */
const header = 'Authorization: Bearer TOKEN';

export const claudeCodeCommand = ({ gateway, url, closed }: Door): string =>
  `claude mcp add --transport http ${gateway} ${inShell(url)}${closed ? ` --header "${header}"` : ''}`;

export const vsCodeFile = ({ gateway, url, closed }: Door): string =>
  `{"servers": {"${gateway}": {"type": "http", "url": "${url}"${closed ? ', "headers": {"Authorization": "Bearer TOKEN"}' : ''}}}}`;

export const codexCommand = ({ gateway, url, closed }: Door): string =>
  `codex mcp add ${gateway} --url ${inShell(url)}${closed ? ` --bearer-token-env-var ${tokenVariable(gateway)}` : ''}`;

/** The environment variable that Codex is told to take the token from: it wants a name, never the token. */
export const tokenVariable = (gateway: string): string => `${gateway.toUpperCase().replace(/[^A-Z0-9]/g, '_')}_TOKEN`;

/** n8n has neither resources nor prompts, so it is shown tools for them. */
export function n8nEndpoint({ url }: Door): string {
  return `${url}${url.includes('?') ? '&' : '?'}resources=off&prompts=off`;
}

/** @param within a library or group, which the program takes in the path alone; as whoever made the link wrote it */
export const npxSkillsCommand = ({ url }: Door, within?: string): string =>
  `npx skills add ${inShell(`${new URL(url).origin}${within === undefined ? '' : `/${encodePath(within)}`}`)}`;

/** As one word of a shell: `?`, `&` and brackets mean something there. */
const inShell = (url: string): string => (/^[A-Za-z0-9:/._-]+$/.test(url) ? url : `'${url.replaceAll("'", '%27')}'`);
