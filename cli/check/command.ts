// `lyceum check`: tells an author what the harvest would say, before the push.
import { Command } from 'commander';
import { option } from '../options.ts';
import { addSourceOptions } from '../source-options.ts';
import type { CheckFlags } from './flags.ts';

const collect = (item: string, before: string[] | undefined): string[] => [...(before ?? []), item];

export function checkCommand(): Command {
  const command = new Command('check')
    .description('harvest a folder or a repository and print the problems its author should mend')
    .argument(
      '<target>',
      'a folder, a URL (github://OWNER/REPOSITORY, git+https://…, s3://…, oci://…, https://…/index.json), or manifests: a YAML file or a folder of them',
    )
    .addOption(option('--json', 'print one JSON document').default(false))
    .addOption(option('--ref <ref>', 'branch, tag or commit of a git URL'))
    .addOption(option('--region <name>', "a bucket's region; default: us-east-1"))
    .addOption(option('--subdirectory <path>', 'harvest only this folder').default(''))
    .addOption(option('--library <name>', "the library's name; default: the folder's or repository's"))
    .addOption(option('--skills <glob>', 'include.skills; may be given again').argParser(collect))
    .addOption(option('--prompts <glob>', 'include.prompts; may be given again').argParser(collect))
    .addOption(option('--rules <glob>', 'include.rules; may be given again').argParser(collect))
    .addOption(option('--profiles <glob>', 'include.profiles; may be given again').argParser(collect))
    .addOption(option('--files <glob>', 'include.files; may be given again').argParser(collect))
    .addOption(option('--exclude <glob>', 'exclude; may be given again').argParser(collect).default([]))
    .addOption(option('--timeout <duration>', 'how long one fetch may take').default('60s'))
    .addHelpText(
      'after',
      '\nExit status: 0 when nothing is rejected, 1 when something is, 2 when it could not be checked.',
    );
  return addSourceOptions(command).action(async (target: string, flags: CheckFlags) => {
    const { check } = await import('./check.ts');
    process.exitCode = await check(target, flags).catch((error: unknown) => {
      console.error(`lyceum: ${error instanceof Error ? error.message : 'an unexpected failure'}`);
      return 2;
    });
  });
}
