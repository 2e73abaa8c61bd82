// What the command-line page must say of each command: one row an option, as `--help` has them.
import type { Command, Option } from 'commander';
import { checkCommand } from '../../cli/check/command.ts';
import { operatorCommand } from '../../cli/operator/command.ts';
import { runCommand } from '../../cli/run/command.ts';
import { serverCommand } from '../../cli/server/command.ts';
import { syncCommand } from '../../cli/sync/command.ts';

export const commands: readonly Command[] = [
  operatorCommand(),
  serverCommand(),
  syncCommand(),
  runCommand(),
  checkCommand(),
];

/** The rows of a command's options, as Markdown: flags, environment variable, default, words. */
export const rowsOf = (command: Command): string[] =>
  command.options.map(
    (option) =>
      `| \`${option.flags}\` | \`${option.envVar}\` | ${defaultOf(option)} | ${option.description.replace(/[|*]/g, '\\$&')}${choicesOf(option)} |`,
  );

function defaultOf({ mandatory, defaultValue, defaultValueDescription }: Option): string {
  if (mandatory && defaultValue === undefined) return 'required';
  if (defaultValue === undefined || defaultValue === false) return '–';
  if (defaultValue === '' || (Array.isArray(defaultValue) && defaultValue.length === 0)) return '–';
  return `\`${defaultValueDescription ?? String(defaultValue)}\``;
}

const choicesOf = ({ argChoices }: Option): string =>
  argChoices === undefined ? '' : `: ${argChoices.map((choice) => `\`${choice}\``).join(', ')}`;
