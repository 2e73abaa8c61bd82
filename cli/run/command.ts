// `lyceum run FOLDER`: the whole of Lyceum in one process, with a folder of manifests in the API server's place.
import { Command } from 'commander';
import { host, logLevel, option, port } from '../options.ts';
import { addSourceOptions } from '../source-options.ts';
import type { RunFlags } from './flags.ts';

export function runCommand(): Command {
  const command = new Command('run')
    .description('run operator and servers in one process, from a folder of manifests; no cluster is needed')
    .argument('<folder>', 'folder of YAML manifests; it is / for file:/// sources')
    .addOption(host().default('127.0.0.1'))
    .addOption(
      option('--port <port>', 'port of the first gateway; each further one gets the next')
        .argParser(port)
        .default(8000),
    )
    .addOption(
      option(
        '--volume <folder>',
        'where the catalogue is kept; default: a folder of this manifest folder in the cache',
      ),
    )
    .addOption(logLevel().default('error'));
  return addSourceOptions(command).action(async (folder: string, flags: RunFlags) => {
    const { run } = await import('./run.ts');
    await run(folder, flags);
  });
}
