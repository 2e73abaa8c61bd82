// Lists that a tool gives in pages: the rows as JSON, and in a second text where the list goes on.
import { BadCursor } from './cursor.ts';
import type { PageOf } from './page.ts';
import { failed, type PropertySchema, said, type ToolAnswer } from './tool.ts';

/** The `cursor` of a tool whose list has pages. */
export const cursorProperty: PropertySchema = {
  type: 'string',
  description: 'Where the list goes on: `nextCursor` of the answer before.',
};

/** @param cursor whatever came as the argument of that name */
export function saidPage(
  tool: string,
  cursor: unknown,
  page: (cursor: string | undefined) => PageOf<unknown>,
): ToolAnswer {
  if (cursor !== undefined && cursor !== null && typeof cursor !== 'string') {
    return failed(`\`cursor\` is the text that an answer of ${tool} gave as nextCursor; leave it out to begin.`);
  }
  try {
    const { rows, nextCursor } = page(cursor ?? undefined);
    const answer = said(JSON.stringify(rows));
    if (nextCursor !== undefined) answer.content.push({ type: 'text', text: JSON.stringify({ nextCursor }) });
    return answer;
  } catch (error) {
    if (error instanceof BadCursor) return failed(`No such cursor: ${error.message}.`);
    throw error;
  }
}
