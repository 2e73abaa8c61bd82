// One harvest that publishes nothing: what a source would serve, and what there is to say about it.
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { digestOf } from '../../catalogue/digest.ts';
import { type HarvestResult, harvest } from '../../operator/harvest/harvest.ts';
import type { Cluster } from '../../operator/kubernetes/cluster.ts';
import { deadlineOf } from '../../operator/reconcile/deadline.ts';
import { effectiveLimits } from '../../operator/reconcile/limits.ts';
import { secretOf } from '../../operator/reconcile/look.ts';
import type { SkillSourceSpec } from '../../operator/resources/skill-source.ts';
import type { Backends } from '../../operator/source/backends.ts';
import { withSettledTree } from '../../operator/source/settled.ts';
import type { Limits } from '../../upstream/limits.ts';

/** A source to check. */
export interface Subject {
  namespace: string;
  name: string;
  spec: SkillSourceSpec;
}

export interface Harvested {
  revision: string;
  result: HarvestResult;
}

/** @throws UpstreamFault, SourceFault */
export async function harvestOnce(
  { namespace, name, spec }: Subject,
  backends: Backends,
  cluster: Pick<Cluster, 'readSecret' | 'readConfigMap'>,
  ceiling: Limits,
): Promise<Harvested> {
  const limits = effectiveLimits(spec.limits, ceiling);
  const scratch = await mkdtemp(join(tmpdir(), 'lyceum-check-'));
  using deadline = deadlineOf(spec.timeout);
  try {
    const { data: secret } = await secretOf(cluster, namespace, spec);
    const told = { received: () => {}, gitReader: () => {} };
    const context = { limits, signal: deadline.signal, secret, memory: noMemory, scratch, ...told };
    const source = await backends.open(spec, namespace, context, cluster);
    try {
      const { include, exclude, subdirectory, url } = spec;
      const rules = { include, exclude, subdirectory, library: spec.library ?? name, source: name, url, limits };
      return await withSettledTree(source, async (tree) => {
        const result = await harvest(tree, rules, new Map(), digestsOnly, deadline.signal);
        return { revision: tree.revision, result };
      });
    } finally {
      await source.close();
    }
  } finally {
    await rm(scratch, { recursive: true, force: true });
  }
}

const noMemory = { load: async () => undefined, save: async () => {} };

/** Nothing is served from here, so nothing is kept; and with nothing known, nothing is read back. */
const digestsOnly = {
  has: () => false,
  add: digestOf,
  read: (digest: string): Promise<Buffer> => Promise.reject(new Error(`${digest} was not kept`)),
};
