// What the operator remembers of each source between reconciles, and what it makes of a spec. Pure.
import { hash } from 'node:crypto';
import type { SourceState as PublishedState } from '../../catalogue/index-file.ts';
import type { ArtifactRow, PackFileRow, ProblemRow } from '../../catalogue/source-catalogue.ts';
import type { GitReader } from '../../upstream/git/repository.ts';
import type { Limits } from '../../upstream/limits.ts';
import type { SourceAddresses } from '../gateway/addresses.ts';
import type { LiveView, SourceView } from '../gateway/assembly.ts';
import { liveSecretOf } from '../gateway/live.ts';
import type { KubernetesObject } from '../kubernetes/cluster.ts';
import type { RecordHead } from '../publish/record.ts';
import { type SourceFaultReason, sourceFaultReasons } from '../reasons.ts';
import { parseDuration } from '../resources/quantities.ts';
import type { SkillSourceSpec } from '../resources/skill-source.ts';
import { conditionOf } from './conditions.ts';
import type { LookMemory } from './look-plan.ts';

/** What a source has on the volume, with what of its catalogue the status and the gateways need. */
export interface PublishedRecord {
  record: RecordHead;
  addresses: SourceAddresses;
  problems: readonly ProblemRow[];
}

/** What stays in memory of a catalogue: addresses, one for all versions of an artifact, and problems, not its rows. */
export function summaryOf({
  artifacts,
  files,
  problems,
}: {
  artifacts: readonly ArtifactRow[];
  files: readonly PackFileRow[];
  problems: readonly ProblemRow[];
}): Pick<PublishedRecord, 'addresses' | 'problems'> {
  return {
    addresses: {
      artifacts: artifacts
        .filter(({ kind, address }, at) => kind !== artifacts[at - 1]?.kind || address !== artifacts[at - 1]?.address)
        .map(({ kind, address, name, folder, versionsIn }) => ({ kind, address, name, folder: versionsIn ?? folder })),
      files: files.map(({ path }) => path),
    },
    problems,
  };
}

export interface SourceState extends LookMemory {
  uid: string;
  published?: PublishedRecord;
  /** Failed looks in a row. */
  failures: number;
  /** metadata.generation at the last look, good or bad. */
  lookedGeneration?: number;
  /** Value of the annotation that asks for a look, as it was handled last. */
  handledRequest: string | undefined;
  /** resourceVersion of the Secret that the last look used; `absent` when it was not there. */
  secretVersion?: string;
  /** How the git server was read last; undefined before, and for other sources. */
  gitReader?: GitReader;
  /** Of the last valid spec: what gateways show and scope by. */
  settings?: SourceSettings;
}

export interface SourceSettings {
  library: string;
  tags: string[];
  refreshSeconds?: number;
  /** Not known from the volume, but from the spec alone. */
  live?: LiveView;
}

export function settingsOf(object: KubernetesObject, spec: SkillSourceSpec, { fileSize }: Limits): SourceSettings {
  const { url, subdirectory } = spec;
  const secret = liveSecretOf(spec);
  return {
    library: spec.library ?? object.metadata.name,
    tags: spec.tags,
    ...(spec.refresh === undefined ? {} : { refreshSeconds: parseDuration(spec.refresh) }),
    ...(secret === undefined ? {} : { live: { url, subdirectory, fileSize, secret } }),
  };
}

/**
 * Digest of everything beside the tree that decides what is harvested; tags, refresh and the like do not.
 * @param rules the version of the rules of the harvest
 */
export function specDigest(spec: SkillSourceSpec, library: string, limits: Limits, rules: number): string {
  const { url, ref, subdirectory, include, exclude } = spec;
  const { files, fileSize, totalSize } = limits;
  const canonical = [
    [url, ref ?? null, subdirectory, library],
    [include.skills ?? null, include.prompts ?? null, include.rules ?? null, include.profiles ?? null],
    [include.files ?? null, exclude],
    [files, fileSize, totalSize],
    rules,
  ];
  return `sha256:${hash('sha256', JSON.stringify(canonical))}`;
}

/** How a gateway shows a source that it selects. */
export function viewOf(object: KubernetesObject, state: SourceState): SourceView {
  const settings = state.settings ?? state.published?.record.settings ?? { library: object.metadata.name, tags: [] };
  const { published, fault } = state;
  return {
    name: object.metadata.name,
    state: shownState(state),
    ...(fault === undefined ? {} : { reason: fault.reason }),
    ...settings,
    ...(published === undefined
      ? {}
      : {
          published: {
            revision: published.record.revision,
            built: builtOf(object.status, published.record),
            counts: published.record.counts,
            catalogue: published.record.catalogue,
            addresses: published.addresses,
          },
        }),
  };
}

/**
 * When the content last changed, RFC 3339. The status has the first word where it tells of the same content, so that two
 * operators that meet on one object do not write their own times over each other's for ever.
 */
export function builtOf(status: unknown, { artifactDigest, built }: RecordHead): string {
  const artifact = (status as { artifact?: { digest?: unknown; lastUpdateTime?: unknown } } | undefined)?.artifact;
  const told = artifact?.digest === artifactDigest ? artifact.lastUpdateTime : undefined;
  return typeof told === 'string' ? told : built;
}

export function shownState({ published, fault }: Pick<SourceState, 'published' | 'fault'>): PublishedState {
  if (published) return fault ? 'stale' : 'ok';
  return fault ? 'failed' : 'pending';
}

/** What a status tells of the looks before, so that a restart does not take a stale source for a healthy one. */
export function rememberedBy(status: unknown): Pick<SourceState, 'fault' | 'lookedGeneration' | 'handledRequest'> {
  const handledRequest = (status as { lastHandledReconcileAt?: string } | undefined)?.lastHandledReconcileAt;
  const ready = conditionOf(status, 'Ready');
  if (ready?.status !== 'False' || !Object.hasOwn(sourceFaultReasons, ready.reason)) return { handledRequest };
  const fault = { reason: ready.reason as SourceFaultReason, message: ready.message };
  return { handledRequest, fault, lookedGeneration: ready.observedGeneration };
}
