// Prompts: their list, and one of them with its arguments filled in.
import { splitFrontmatter } from '../../catalogue/frontmatter.ts';
import { type Artifact, byAscii, mainFile, promptNamed } from '../snapshot/snapshot.ts';
import type { View } from '../view.ts';
import { type PageOf, pageOf } from './page.ts';
import { argumentsGiven, type PromptSetting, renderPrompt } from './prompt-text.ts';
import { bytesOf } from './read.ts';

/** A row of `prompts/list`. */
export interface PromptRow {
  name: string;
  title?: string;
  description?: string;
  arguments: { name: string; description?: string; required: boolean }[];
}

/** A result of `prompts/get`. */
export interface RenderedPrompt {
  description?: string;
  messages: { role: 'user'; content: { type: 'text'; text: string } }[];
}

/**
 * One page of the prompts.
 * @throws BadCursor
 */
export function promptPage({ prompts }: View, cursor: string | undefined): PageOf<PromptRow> {
  return pageOf(
    'p',
    {
      length: prompts.length,
      keyAt: (index) => prompts[index]!.qualified,
      rowAt: (index) => rowOf(prompts[index]!),
      bytesAt: (index) => Buffer.byteLength(JSON.stringify(rowOf(prompts[index]!))),
      compare: byAscii,
    },
    cursor,
  );
}

function rowOf({ qualified, row }: Artifact): PromptRow {
  return {
    name: qualified,
    ...(row.title === undefined ? {} : { title: row.title }),
    ...(row.description === '' ? {} : { description: row.description }),
    arguments: settingOf(row).arguments.map(({ name, description, required }) => ({
      name,
      ...(description === undefined ? {} : { description }),
      required,
    })),
  };
}

/** How a prompt takes arguments. */
export const settingOf = ({ prompt }: Artifact['row']): PromptSetting =>
  prompt ?? { dialect: 'placeholders', arguments: [] };

/** The prompt of a name; undefined for what is absent or out of scope alike. */
export function visiblePrompt(view: View, name: string): Artifact | undefined {
  const prompt = promptNamed(view.snapshot, name);
  return prompt !== undefined && view.sees(prompt) ? prompt : undefined;
}

/**
 * @param prompt a visible one
 * @param sent the arguments as they came
 * @throws PromptRefused, ContentUnavailable
 */
export async function renderedPrompt(view: View, { row }: Artifact, sent: unknown): Promise<RenderedPrompt> {
  const given = argumentsGiven(sent);
  const text = renderPrompt(settingOf(row), await textBehindFrontmatter(view, row), given);
  return {
    ...(row.description === '' ? {} : { description: row.description }),
    messages: [{ role: 'user', content: { type: 'text', text } }],
  };
}

async function textBehindFrontmatter(view: View, row: Artifact['row']): Promise<string> {
  const file = mainFile(row);
  const text = file === undefined ? '' : (await bytesOf(view, file)).toString('utf8');
  const split = splitFrontmatter(text);
  return split.kind === 'found' ? split.body : text;
}
