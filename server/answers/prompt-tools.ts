// list_prompts and get_prompt: prompts for clients that speak only tools.
import { ContentUnavailable } from '../../catalogue/content.ts';
import type { View } from '../view.ts';
import { PromptRefused } from './prompt-text.ts';
import { promptPage, renderedPrompt, visiblePrompt } from './prompts.ts';
import { failed, said, type Tool, type ToolAnswer } from './tool.ts';
import { cursorProperty, saidPage } from './tool-pages.ts';
import { shortened } from './words.ts';

export const promptTools: readonly Tool[] = [
  {
    name: 'list_prompts',
    title: 'List prompts',
    description: () => 'List the prompts, as a JSON array of rows with name, description and arguments.',
    inputSchema: () => ({ type: 'object', properties: { cursor: cursorProperty } }),
    shown: ({ promptTools }) => promptTools,
    call: ({ cursor }, view) => saidPage('list_prompts', cursor, (behind) => promptPage(view, behind)),
  },
  {
    name: 'get_prompt',
    title: 'Get a prompt',
    description: () =>
      'Get one prompt with its arguments filled in, as JSON with description and messages. ' +
      'Names and arguments come from list_prompts.',
    inputSchema: () => ({
      type: 'object',
      properties: {
        name: { type: 'string', description: 'The name of the prompt, as list_prompts has it.' },
        arguments: {
          type: 'object',
          description: 'A text for each argument, by its name; optional ones may be left out.',
          additionalProperties: { type: 'string' },
        },
      },
      required: ['name'],
    }),
    shown: ({ promptTools }) => promptTools,
    call: ({ name, arguments: sent }, view) => getPrompt(view, name, sent),
  },
];

async function getPrompt(view: View, name: unknown, sent: unknown): Promise<ToolAnswer> {
  if (typeof name !== 'string' || name.trim() === '') {
    return failed('get_prompt needs `name`, the name of a prompt. Call list_prompts for them.');
  }
  const prompt = visiblePrompt(view, name);
  if (prompt === undefined) {
    return failed(`No prompt '${shortened(name)}'. Call list_prompts to see what there is.`);
  }
  try {
    const text = JSON.stringify(await renderedPrompt(view, prompt, sent));
    return { ...said(text), touched: { kind: 'prompt', library: prompt.from.library } };
  } catch (error) {
    if (error instanceof PromptRefused) {
      return failed(`${error.message}. list_prompts says which arguments '${shortened(name)}' takes.`);
    }
    if (error instanceof ContentUnavailable) {
      return failed(`The prompt '${shortened(name)}' cannot be read at the moment. Try again in a minute.`);
    }
    throw error;
  }
}
