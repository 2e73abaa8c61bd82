// The options of `lyceum check`, as its action gets them.
import type { SourceFlags } from '../source-options.ts';

export interface CheckFlags extends SourceFlags {
  json: boolean;
  ref?: string;
  region?: string;
  subdirectory: string;
  library?: string;
  skills?: string[];
  prompts?: string[];
  rules?: string[];
  profiles?: string[];
  files?: string[];
  exclude: string[];
  timeout: string;
}
