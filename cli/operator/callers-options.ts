// The options of `lyceum operator` on the port that its servers call.
import type { Command } from 'commander';
import { option, port } from '../options.ts';

export interface CallersFlags {
  tlsFolder?: string;
  callersPort: number;
  sidecarGateway?: string;
}

export function addCallersOptions(command: Command): Command {
  return command
    .addOption(
      option(
        '--tls-folder <folder>',
        'folder with tls.crt and tls.key, read anew when they change, for the port that servers call; default: there is no such port',
      ),
    )
    .addOption(option('--callers-port <port>', 'port that servers call, over HTTPS').argParser(port).default(9443));
}
