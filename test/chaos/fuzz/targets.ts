// Everything that is fed with damaged inputs.
import { archives } from './archives.ts';
import { frontmatter, globs, indexes, listings, manifests, multistatus, resources } from './documents.ts';
import { packets, packs } from './git.ts';
import { mcp, webhooks } from './requests.ts';
import { handshakes, knownHosts } from './ssh.ts';
import type { Target } from './target.ts';

export const targets: readonly Target[] = [
  packs,
  packets,
  handshakes,
  knownHosts,
  multistatus,
  listings,
  manifests,
  archives,
  frontmatter,
  resources,
  globs,
  indexes,
  mcp,
  webhooks,
];
