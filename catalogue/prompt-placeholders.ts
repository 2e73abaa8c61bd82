// Where a prompt's text takes arguments, in each dialect: what the harvest checks is what a server fills in.
import type { PromptArgument, PromptDialect } from './source-catalogue.ts';

/** A place in the text that stands for an argument: one by name, in Copilot's dialect with a hint, or Claude's by its position, from 1. */
export type Placeholder = { at: number; length: number } & ({ name: string; hint?: string } | { position: number });

/** No prompt takes arguments in more places: filling them in holds up whoever waits behind it. */
export const mostPlaceholders = 20_000;

/** Claude's argument that is everything the user wrote behind the command. */
export const allArguments = 'arguments';

const patterns: Record<PromptDialect, RegExp> = {
  placeholders: /\{\{\s*([A-Za-z_][A-Za-z0-9_]*)\s*\}\}/g,
  claude: /\$ARGUMENTS(?:\[([0-9])\])?|\$([1-9])(?![0-9])/g,
  copilot: /\$\{input:([A-Za-z_][A-Za-z0-9_.-]{0,63})(?::([^{}\n]{0,1024}))?\}/g,
};

/** The placeholders of a text in their order, none inside another. What looks like one in another dialect is text. */
export function* placeholdersIn(dialect: PromptDialect, text: string): Generator<Placeholder> {
  for (const match of text.matchAll(patterns[dialect])) {
    const place = { at: match.index, length: match[0].length };
    if (dialect !== 'claude') yield { ...place, name: match[1]!, ...(match[2] ? { hint: match[2] } : {}) };
    else if (match[1] !== undefined) yield { ...place, position: Number(match[1]) + 1 };
    else if (match[2] !== undefined) yield { ...place, position: Number(match[2]) };
    else yield { ...place, name: allArguments };
  }
}

/** The argument that a placeholder stands for, if it is declared. Claude's positions count every other than `arguments`. */
export function argumentOf(placeholder: Placeholder, declared: readonly PromptArgument[]): PromptArgument | undefined {
  if ('name' in placeholder) return declared.find(({ name }) => name === placeholder.name);
  return declared.filter(({ name }) => name !== allArguments)[placeholder.position - 1];
}
