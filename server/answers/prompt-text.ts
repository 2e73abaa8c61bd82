// A prompt's text with its arguments filled in. Pure, in one pass: what an argument holds is never looked into.
import { argumentOf, mostPlaceholders, placeholdersIn } from '../../catalogue/prompt-placeholders.ts';
import type { PromptArgument, PromptDialect } from '../../catalogue/source-catalogue.ts';

export interface PromptSetting {
  dialect: PromptDialect;
  arguments: readonly PromptArgument[];
}

/** Why a prompt cannot be rendered, in words for whoever asked. */
export class PromptRefused extends Error {
  constructor(message: string) {
    super(message);
    this.name = 'PromptRefused';
  }
}

/** In characters: what arguments may add to a prompt, which may hold one of them thousands of times. */
const mostAdded = 1024 * 1024;

/**
 * Empty or left out: the default stands, else nothing. Arguments that the prompt has not are passed over. A placeholder
 * that no declared argument belongs to is text.
 * @param text what stands behind the frontmatter
 * @param given by the argument's name
 * @throws PromptRefused where a required argument is missing, by name, or the text would grow too large or has too many placeholders
 */
export function renderPrompt(setting: PromptSetting, text: string, given: ReadonlyMap<string, string>): string {
  const declared = setting.arguments;
  const missing = declared.filter(({ name, required }) => required && !given.get(name));
  if (missing.length > 0) {
    throw new PromptRefused(`Missing required arguments: ${missing.map(({ name }) => name).join(', ')}`);
  }
  const parts: string[] = [];
  let end = 0;
  let added = 0;
  let places = 0;
  for (const placeholder of placeholdersIn(setting.dialect, text)) {
    if (++places > mostPlaceholders) {
      throw new PromptRefused(`The prompt takes arguments in more than ${mostPlaceholders} places`);
    }
    const argument = argumentOf(placeholder, declared);
    if (argument === undefined) continue;
    const value = given.get(argument.name) || (argument.default ?? '');
    added += value.length;
    if (added > mostAdded) {
      throw new PromptRefused(`The arguments would add more than ${mostAdded} characters to the prompt`);
    }
    parts.push(text.slice(end, placeholder.at), value);
    end = placeholder.at + placeholder.length;
  }
  parts.push(text.slice(end));
  return parts.join('');
}

/**
 * Arguments as clients send them: an object of texts, numbers and booleans, or such an object as JSON in one text.
 * @throws PromptRefused
 */
export function argumentsGiven(sent: unknown): Map<string, string> {
  const value = typeof sent === 'string' ? parsed(sent) : sent;
  if (value === undefined || value === null) return new Map();
  if (typeof value !== 'object' || Array.isArray(value)) {
    throw new PromptRefused('The arguments must be an object that has a text for each name');
  }
  const given = new Map<string, string>();
  for (const [name, one] of Object.entries(value)) {
    if (one === undefined || one === null) continue;
    if (typeof one === 'object' || typeof one === 'function') {
      throw new PromptRefused(`The argument '${name.slice(0, 64)}' must be a text, a number, true or false`);
    }
    given.set(name, String(one));
  }
  return given;
}

function parsed(text: string): unknown {
  if (text.trim() === '') return undefined;
  try {
    return JSON.parse(text);
  } catch {
    throw new PromptRefused('The arguments are one text that is no JSON; send an object that has a text for each name');
  }
}
