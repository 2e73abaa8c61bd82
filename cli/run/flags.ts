// The options of `lyceum run`, as its action gets them.
import type { SourceFlags } from '../source-options.ts';

export interface RunFlags extends SourceFlags {
  host: string;
  port: number;
  volume?: string;
  logLevel: string;
}
