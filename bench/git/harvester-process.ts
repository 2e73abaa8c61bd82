// A process that looks at git sources as a running operator does: fetch, harvest, publication on a volume.
import { rulesVersion } from '../../operator/harvest/rules.ts';
import type { RecordHead } from '../../operator/publish/record.ts';
import { Volume } from '../../operator/publish/volume.ts';
import { deadlineOf } from '../../operator/reconcile/deadline.ts';
import { effectiveLimits } from '../../operator/reconcile/limits.ts';
import { look } from '../../operator/reconcile/look.ts';
import { settingsOf, specDigest } from '../../operator/reconcile/source-state.ts';
import { parseSkillSource } from '../../operator/resources/parse.ts';
import { Backends } from '../../operator/source/backends.ts';
import { MemoryCluster } from '../../test/fixtures/memory-cluster.ts';
import { answerQuestions } from '../answering.ts';

export interface LookQuestion {
  /** The folder of the volume. */
  volume: string;
  /** Of a SkillSource. */
  spec: { url: string } & Record<string, unknown>;
  /** Whether what the last look at this volume published is known; a first harvest otherwise. */
  again: boolean;
}

export interface LookAnswer {
  milliseconds: number;
  found: 'published' | 'unchanged';
  /** Files and bytes that are published. */
  files: number;
  size: number;
  skills: number;
}

/** The operator's defaults. */
const ceiling = { files: 50_000, fileSize: 2 ** 26, totalSize: 2 ** 30 };

const backends = new Backends({
  guard: { allowLoopback: true, deniedCidrs: [] },
  fileRoot: undefined,
  closedFolders: [],
});
const cluster = new MemoryCluster();
const records = new Map<string, RecordHead>();

answerQuestions<LookQuestion>(async ({ volume: folder, spec: written, again }) => {
  const volume = Volume.at(folder);
  cluster.source('monorepo', { spec: written });
  const object = cluster.sources.get('default/monorepo')!;
  const parsed = parseSkillSource(object);
  if (!parsed.ok) throw new Error(parsed.message);
  const { spec } = parsed;
  const limits = effectiveLimits(spec.limits, ceiling);
  const settings = settingsOf(object, spec, limits);
  const record = again ? records.get(folder) : undefined;
  using deadline = deadlineOf(spec.timeout);
  const began = performance.now();
  const outcome = await look(
    {
      object,
      spec,
      specDigest: specDigest(spec, settings.library, limits, rulesVersion),
      settings,
      limits,
      secret: new Map(),
      record,
      force: record === undefined,
      signal: deadline.signal,
      received: () => {},
      gitReader: () => {},
    },
    { cluster, volume, backends, now: Date.now },
  );
  const milliseconds = performance.now() - began;
  const now = outcome.found === 'published' ? outcome.record : record!;
  records.set(folder, now);
  const { files, size, counts } = now;
  return { milliseconds, found: outcome.found, files, size, skills: counts.skills } satisfies LookAnswer;
});
