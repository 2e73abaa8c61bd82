#!/usr/bin/env node
// The `lyceum` command: operator, server, sync, run, check. Each command is a module that is loaded only when it is asked for.
import { Command, CommanderError } from 'commander';
import { checkCommand } from './check/command.ts';
import { operatorCommand } from './operator/command.ts';
import { runCommand } from './run/command.ts';
import { serverCommand } from './server/command.ts';
import { syncCommand } from './sync/command.ts';
import { version } from './version.ts';

const program = new Command('lyceum')
  .description(
    'Serves the material that AI agents read: harvests SkillSources, publishes a catalogue, answers MCP clients.',
  )
  .version(version, '--version', 'print the version')
  .showHelpAfterError('(lyceum --help lists the commands)')
  .addHelpText('after', '\nEvery option has an environment variable: --some-name is LYCEUM_SOME_NAME.')
  .addCommand(operatorCommand())
  .addCommand(serverCommand())
  .addCommand(syncCommand())
  .addCommand(runCommand())
  .addCommand(checkCommand());

// Who reads no more wants no more: `lyceum run … | head`.
process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  if (error.code !== 'EPIPE') throw error;
  process.exit(0);
});
process.on('unhandledRejection', (reason) => {
  console.error('lyceum: an unexpected failure:', reason);
  process.exit(1);
});

try {
  await program.parseAsync();
} catch (error) {
  if (error instanceof CommanderError) process.exit(error.exitCode);
  console.error(`lyceum: ${wordsOf(error)}`);
  process.exit(1);
}

function wordsOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  const { code, port } = error as NodeJS.ErrnoException & { port?: number };
  if (code === 'EADDRINUSE') return `port ${port} is in use: choose another one with the option for it, see --help`;
  if (code === 'EACCES' && port !== undefined) return `port ${port} may not be used: choose one above 1023`;
  return error.message;
}
