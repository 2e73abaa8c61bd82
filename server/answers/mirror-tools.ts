// The mirror tools: resources for clients that speak only tools. Plain schemas, no output schema, failures as text.
import { ContentUnavailable } from '../../catalogue/content.ts';
import type { View } from '../view.ts';
import { BadCursor } from './cursor.ts';
import { defaultRows, listPage } from './listing.ts';
import { contentsOf, resolve, type Target } from './read.ts';
import { shortened } from './words.ts';

export interface ToolText {
  type: 'text';
  text: string;
}

export interface ToolLink {
  type: 'resource_link';
  uri: string;
  name: string;
  mimeType: string;
  size: number;
}

export interface ToolAnswer {
  content: (ToolText | ToolLink)[];
  isError?: true;
  /** What was read, for the metric of reads. */
  target?: Target;
}

const annotations = { readOnlyHint: true, destructiveHint: false, idempotentHint: true, openWorldHint: false };

/** @param full the listing of `?skills=full`, which is given in pages */
export function mirrorTools(full: boolean) {
  const cursor = { type: 'string' as const, description: 'Where the list goes on: `nextCursor` of the answer before.' };
  return [
    {
      name: 'list_resources',
      title: 'List skill resources',
      description:
        'List what can be read here, as a JSON array of rows with uri, name and description. ' +
        (full ? 'Skills are listed one by one.' : 'A row is an index: read its uri to see the skills in it.'),
      inputSchema: { type: 'object' as const, properties: full ? { cursor } : {} },
      annotations: { title: 'List skill resources', ...annotations },
    },
    {
      name: 'read_resource',
      title: 'Read a skill resource',
      description:
        "Read one skill:// address: an index, a skill's instructions, its /_manifest, or one of its files. " +
        'Addresses come from list_resources and from what you have read.',
      inputSchema: {
        type: 'object' as const,
        properties: { uri: { type: 'string' as const, description: 'The address, beginning with skill://' } },
        required: ['uri'],
      },
      annotations: { title: 'Read a skill resource', ...annotations },
    },
  ];
}

/** Undefined for a tool that there is none of. Arguments that a tool does not know are passed over. */
export async function callMirrorTool(
  view: View,
  full: boolean,
  name: string,
  args: Record<string, unknown>,
): Promise<ToolAnswer | undefined> {
  if (name === 'list_resources') return listRows(view, full, args.cursor);
  if (name === 'read_resource') return readAddress(view, args.uri);
  return undefined;
}

function listRows(view: View, full: boolean, cursor: unknown): ToolAnswer {
  if (!full) return said(JSON.stringify(defaultRows(view)));
  if (cursor !== undefined && cursor !== null && typeof cursor !== 'string') {
    return failed('`cursor` is the text that an answer of list_resources gave as nextCursor; leave it out to begin.');
  }
  try {
    const { rows, nextCursor } = listPage(view, true, cursor ?? undefined);
    const answer = said(JSON.stringify(rows));
    if (nextCursor !== undefined) answer.content.push({ type: 'text', text: JSON.stringify({ nextCursor }) });
    return answer;
  } catch (error) {
    if (error instanceof BadCursor) return failed(`No such cursor: ${error.message}.`);
    throw error;
  }
}

async function readAddress(view: View, uri: unknown): Promise<ToolAnswer> {
  if (typeof uri !== 'string' || uri.trim() === '') {
    return failed('read_resource needs `uri`, an address such as skill://library/skill. Call list_resources for them.');
  }
  const target = resolve(view, uri);
  if (target === undefined)
    return failed(`No resource at '${shortened(uri)}'. Call list_resources to see what there is.`);
  if ('file' in target && !target.file.text) {
    const { path, size, digest } = target.file;
    const { mimeType, listed } = target;
    return {
      content: [
        { type: 'text', text: `Binary file, ${mimeType}, ${size} bytes, ${digest}` },
        { type: 'resource_link', uri: listed, name: path, mimeType, size },
      ],
      target,
    };
  }
  try {
    const contents = await contentsOf(view, target, uri);
    return { ...said('text' in contents ? contents.text : ''), target };
  } catch (error) {
    if (error instanceof ContentUnavailable) {
      return failed(`The content of '${shortened(uri)}' cannot be read at the moment. Try again in a minute.`);
    }
    throw error;
  }
}

const said = (text: string): ToolAnswer => ({ content: [{ type: 'text', text }] });
const failed = (text: string): ToolAnswer => ({ content: [{ type: 'text', text }], isError: true });
