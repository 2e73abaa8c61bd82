// list_resources and read_resource: resources for clients that speak only tools.
import { ContentUnavailable } from '../../catalogue/content.ts';
import type { View } from '../view.ts';
import { defaultRows, listPage } from './listing.ts';
import { contentsOf, resolve } from './read.ts';
import { failed, said, type Tool, type ToolAnswer } from './tool.ts';
import { cursorProperty, saidPage } from './tool-pages.ts';
import { shortened } from './words.ts';

export const resourceTools: readonly Tool[] = [
  {
    name: 'list_resources',
    title: 'List skill resources',
    description: ({ fullListing }) =>
      'List what can be read here, as a JSON array of rows with uri, name and description. ' +
      (fullListing ? 'Skills are listed one by one.' : 'A row is an index: read its uri to see what is in it.'),
    inputSchema: ({ fullListing }) => ({
      type: 'object',
      properties: fullListing ? { cursor: cursorProperty } : ({} as Record<string, never>),
    }),
    shown: ({ resourceTools }) => resourceTools,
    // Only the full listing has pages.
    call: ({ cursor }, view, { fullListing }) =>
      fullListing
        ? saidPage('list_resources', cursor, (behind) => listPage(view, true, behind))
        : said(JSON.stringify(defaultRows(view))),
  },
  {
    name: 'read_resource',
    title: 'Read a skill resource',
    description: () =>
      "Read one skill:// address: an index, a skill's instructions, its /_manifest, or one of its files. " +
      'Addresses come from list_resources and from what you have read.',
    inputSchema: () => ({
      type: 'object',
      properties: { uri: { type: 'string', description: 'The address, beginning with skill://' } },
      required: ['uri'],
    }),
    shown: ({ resourceTools }) => resourceTools,
    call: ({ uri }, view) => readAddress(view, uri),
  },
];

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
      touched: target,
    };
  }
  try {
    const contents = await contentsOf(view, target, uri);
    return { ...said('text' in contents ? contents.text : ''), touched: target };
  } catch (error) {
    if (error instanceof ContentUnavailable) {
      return failed(`The content of '${shortened(uri)}' cannot be read at the moment. Try again in a minute.`);
    }
    throw error;
  }
}
