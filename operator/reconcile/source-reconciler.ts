// The reconciler of SkillSource: one ordered chain of small steps; each ends the chain or hands on to the next.
import type { Logger } from 'pino';
import { UpstreamFault } from '../../upstream/fault.ts';
import type { GitReader } from '../../upstream/git/repository.ts';
import type { Limits } from '../../upstream/limits.ts';
import type { SourceView } from '../gateway/assembly.ts';
import { rulesVersion } from '../harvest/rules.ts';
import { type Cluster, type KubernetesObject, keyOf, type ObjectKey } from '../kubernetes/cluster.ts';
import type { SourceMetrics } from '../metrics.ts';
import type { Volume } from '../publish/volume.ts';
import { SourceFault, type SourceFaultReason } from '../reasons.ts';
import { parseSkillSource } from '../resources/parse.ts';
import { parseDuration } from '../resources/quantities.ts';
import type { SkillSourceSpec } from '../resources/skill-source.ts';
import type { Backends } from '../source/backends.ts';
import { AskedLooks, type TellLook } from './asked-looks.ts';
import { rfc3339, shortened } from './conditions.ts';
import type { ReconcileResult } from './controller.ts';
import { deadlineOf } from './deadline.ts';
import { effectiveLimits } from './limits.ts';
import { type LookOutcome, look, secretOf } from './look.ts';
import { planLook } from './look-plan.ts';
import { refreshDelay, retryDelay } from './schedule.ts';
import { contentEvent, faultEvent, rejectionEvent } from './source-events.ts';
import {
  builtOf,
  rememberedBy,
  type SourceSettings,
  type SourceState,
  settingsOf,
  shownState,
  specDigest,
  summaryOf,
  viewOf,
} from './source-state.ts';
import { SourceStates } from './source-states.ts';
import { longestRequest, type Publication, type Standing, sourceStatus, summary } from './source-status.ts';

export interface SourceReconcilerOptions {
  cluster: Cluster;
  volume: Volume;
  backends: Backends;
  /** Above these no `spec.limits` reaches. */
  ceiling: Limits;
  metrics: SourceMetrics;
  /** Told when what gateways show of a source may have changed. */
  changed(source: ObjectKey): void;
  /** Milliseconds of the wall clock. */
  now(): number;
  /** In [0, 1). */
  chance(): number;
  log: Logger;
}

/** The annotation that asks for a look now, whatever the probe would say. Any new value asks again. */
export const requestAnnotation = 'lyceum.dev/requestedAt';

/** Seconds until a volume that could not be read is read again. */
const storageRetrySeconds = 10;

/** What one chain works on. */
interface Chain {
  key: ObjectKey;
  object: KubernetesObject;
  state: SourceState;
  request: string | undefined;
  /** Somebody waits for a look. */
  asked: TellLook | undefined;
}

export class SourceReconciler {
  readonly #options: SourceReconcilerOptions;
  readonly #states: SourceStates;
  readonly #asked = new AskedLooks();

  constructor(options: SourceReconcilerOptions) {
    this.#options = options;
    this.#states = new SourceStates(options.volume);
  }

  /** How a gateway shows a source that it selects. */
  async view(object: KubernetesObject): Promise<SourceView> {
    const state = await this.#states.of(object);
    const parsed = parseSkillSource(object);
    if (parsed.ok) state.settings = this.#settingsOf(object, parsed.spec);
    return viewOf(object, state);
  }

  /** Something a source depends on has changed: its next reconcile looks. */
  async trigger(key: ObjectKey): Promise<void> {
    const state = await this.#states.get(key);
    if (state) state.triggered = true;
  }

  /**
   * The next reconcile looks, whatever the probe would say; the caller enqueues it.
   * @returns whether the source was looked at, and did not fail exactly as it had before
   */
  askLook(key: ObjectKey): Promise<boolean> {
    return this.#asked.ask(key);
  }

  /** resourceVersion of the Secret that a source's last look used, `absent` for none, undefined before a look. */
  async secretVersion(key: ObjectKey): Promise<string | undefined> {
    return (await this.#states.get(key))?.secretVersion;
  }

  /** @throws KubernetesError when the status cannot be written */
  async reconcile(key: ObjectKey, signal: AbortSignal): Promise<ReconcileResult> {
    const asked = this.#asked.take(key);
    try {
      return await this.#reconcile(key, asked, signal);
    } finally {
      asked?.(false);
    }
  }

  async #reconcile(key: ObjectKey, asked: TellLook | undefined, signal: AbortSignal): Promise<ReconcileResult> {
    const object = this.#options.cluster.sources.get(key);
    if (object === undefined || object.metadata.deletionTimestamp !== undefined) return this.#forget(key);
    const requestedAt = object.metadata.annotations[requestAnnotation];
    const request = requestedAt === undefined ? undefined : shortened(requestedAt, longestRequest);
    const state = await this.#states.of(object).catch((error: unknown) => {
      if (error instanceof SourceFault) return error;
      throw error;
    });
    if (state instanceof SourceFault) return this.#failUnread(object, state);
    const chain: Chain = { key, object, state, request, asked };
    const parsed = parseSkillSource(object);
    if (!parsed.ok) return this.#fail(chain, new SourceFault('InvalidSpec', parsed.message));
    chain.state.settings = this.#settingsOf(object, parsed.spec);
    if (parsed.spec.suspend) return this.#suspend(chain);
    return this.#lookWhenDue(chain, parsed.spec, signal);
  }

  /** What the source has on the volume cannot be read: its status keeps telling of it as it did. */
  async #failUnread(object: KubernetesObject, { reason, message }: SourceFault): Promise<ReconcileResult> {
    const { cluster, now, log } = this.#options;
    const { fault, handledRequest } = rememberedBy(object.status);
    for (const event of faultEvent(fault, reason, message)) cluster.recordEvent(object, event);
    if (fault?.reason !== reason) log.warn({ source: keyOf(object), reason, message }, 'source failed');
    const standing: Standing = { state: 'failed', reason, message };
    const { generation } = object.metadata;
    const status = sourceStatus(object.status, generation, standing, 'as before', handledRequest, rfc3339(now()));
    await cluster.applyStatus(object, status);
    return { requeueAfterSeconds: storageRetrySeconds };
  }

  #forget(key: ObjectKey): ReconcileResult {
    this.#states.forget(key);
    this.#options.metrics.forget(key);
    this.#options.changed(key);
    return {};
  }

  async #suspend(chain: Chain): Promise<ReconcileResult> {
    await this.#tell(chain, { state: 'suspended' });
    return {};
  }

  #settingsOf(object: KubernetesObject, spec: SkillSourceSpec): SourceSettings {
    return settingsOf(object, spec, effectiveLimits(spec.limits, this.#options.ceiling));
  }

  async #lookWhenDue(chain: Chain, spec: SkillSourceSpec, signal: AbortSignal): Promise<ReconcileResult> {
    const { object, state, request, asked } = chain;
    const { ceiling, now } = this.#options;
    const settings = this.#settingsOf(object, spec);
    const limits = effectiveLimits(spec.limits, ceiling);
    const digest = specDigest(spec, settings.library, limits, rulesVersion);
    const plan = planLook({
      memory: state,
      publishedSpec: state.published?.record.specDigest,
      spec: digest,
      generation: object.metadata.generation,
      lookedGeneration: state.lookedGeneration,
      request,
      handledRequest: state.handledRequest,
      asked: asked !== undefined,
      now: now(),
    });
    if (plan.look === 'none') {
      await this.#tell(chain, standingOf(state));
      return plan.inSeconds === undefined ? {} : { requeueAfterSeconds: plan.inSeconds };
    }
    if (state.published?.record.specDigest !== digest && state.lookedGeneration !== object.metadata.generation) {
      await this.#tell(chain, { state: 'progressing', message: 'Fetching the current spec for the first time' });
    }
    if (state.lookedGeneration !== object.metadata.generation) this.#options.metrics.gitReader(chain.key, undefined);
    state.looked = true;
    state.triggered = false;
    state.lookedGeneration = object.metadata.generation;
    const began = now();
    let outcome: LookOutcome;
    try {
      outcome = await this.#look(chain, spec, digest, limits, plan.look === 'fetch', signal);
    } catch (error) {
      if (signal.aborted) {
        state.triggered = true;
        return {};
      }
      if (!(error instanceof UpstreamFault || error instanceof SourceFault)) {
        state.triggered = true;
        throw error;
      }
      return await this.#fail(chain, error, spec);
    } finally {
      this.#options.metrics.fetchSeconds(chain.key, (now() - began) / 1000);
    }
    return await this.#succeed(chain, spec, outcome, began);
  }

  async #look(
    { key, object, state }: Chain,
    spec: SkillSourceSpec,
    digest: string,
    limits: Limits,
    force: boolean,
    stop: AbortSignal,
  ): Promise<LookOutcome> {
    const { cluster, volume, backends, metrics, now } = this.#options;
    state.secretVersion = 'absent';
    const secret = await secretOf(cluster, object.metadata.namespace, spec);
    if (secret.version !== undefined) state.secretVersion = secret.version;
    using deadline = deadlineOf(spec.timeout);
    return await look(
      {
        object,
        spec,
        specDigest: digest,
        settings: settingsOf(object, spec, limits),
        limits,
        secret: secret.data,
        record: state.published?.record,
        force,
        signal: AbortSignal.any([stop, deadline.signal]),
        received: (bytes) => metrics.fetchBytes(key, bytes),
        gitReader: (reader) => this.#readBy(key, state, reader),
      },
      { cluster, volume, backends, now },
    );
  }

  #readBy(key: ObjectKey, state: SourceState, reader: GitReader): void {
    const before = state.gitReader ?? 'partial-clone';
    state.gitReader = reader;
    this.#options.metrics.gitReader(key, reader);
    if (reader === before) return;
    const message =
      reader === 'partial-clone'
        ? 'the git server offers partial clone again'
        : 'the git server offers no partial clone, so every change transfers a whole commit';
    this.#options.log.info({ source: key, reader }, message);
  }

  async #succeed(chain: Chain, spec: SkillSourceSpec, outcome: LookOutcome, began: number): Promise<ReconcileResult> {
    const { key, object, state } = chain;
    const { cluster, metrics, now, chance, log } = this.#options;
    const recovered = state.fault !== undefined;
    delete state.fault;
    state.failures = 0;
    const delay = spec.refresh === undefined ? undefined : refreshDelay(parseDuration(spec.refresh), chance());
    if (delay === undefined) delete state.dueAt;
    else state.dueAt = began + delay * 1000;
    if (outcome.found === 'published') {
      const { record, result, contentChanged } = outcome;
      const before = state.published;
      state.published = { record, ...summaryOf(result) };
      for (const event of rejectionEvent(before?.problems ?? [], result.problems)) cluster.recordEvent(object, event);
      if (contentChanged) cluster.recordEvent(object, contentEvent(record.revision, summary(record.counts)));
      log.info(
        { source: key, revision: record.revision, skills: record.counts.skills, problems: record.counts.problems },
        contentChanged ? 'content published' : 'revision moved, content the same',
      );
    }
    metrics.succeeded(key, now() / 1000);
    if (outcome.found === 'published' || recovered) this.#options.changed(key);
    chain.asked?.(true);
    await this.#tell(chain, { state: 'ready' });
    return state.dueAt === undefined ? {} : { requeueAfterSeconds: (state.dueAt - now()) / 1000 };
  }

  async #fail(chain: Chain, error: UpstreamFault | SourceFault, spec?: SkillSourceSpec): Promise<ReconcileResult> {
    const { key, object, state } = chain;
    const { cluster, now, chance, log } = this.#options;
    const { reason, message } = error;
    const before = state.fault;
    state.failures += 1;
    state.fault = { reason, message };
    const delay = retryDelay(
      reason,
      state.failures,
      chance(),
      spec?.refresh === undefined ? undefined : parseDuration(spec.refresh),
      error instanceof UpstreamFault ? error.retryAfterSeconds : undefined,
    );
    if (delay === undefined) delete state.dueAt;
    else state.dueAt = now() + delay * 1000;
    for (const event of faultEvent(before, reason, message)) cluster.recordEvent(object, event);
    if (before?.reason !== reason) {
      log.warn({ source: key, reason, message }, 'source failed');
      this.#options.changed(key);
    }
    chain.asked?.(before?.reason !== reason || before.message !== message);
    await this.#tell(chain, { state: 'failed', reason, message });
    return delay === undefined ? {} : { requeueAfterSeconds: delay };
  }

  async #tell({ key, object, state, request }: Chain, standing: Standing): Promise<void> {
    const { cluster, metrics, now } = this.#options;
    if (standing.state === 'ready' || standing.state === 'failed') state.handledRequest = request;
    const current = cluster.sources.get(key);
    if (current === undefined || current.metadata.uid !== object.metadata.uid) return;
    const publication = publicationOf(state, current.status);
    const { generation } = object.metadata;
    const status = sourceStatus(
      current.status,
      generation,
      standing,
      publication,
      state.handledRequest,
      rfc3339(now()),
    );
    metrics.standing(key, shownState(state), publication?.counts);
    await cluster.applyStatus(current, status);
  }
}

function publicationOf({ published }: SourceState, status: unknown): Publication | undefined {
  if (!published) return undefined;
  const { revision, artifactDigest, size, files, counts } = published.record;
  const built = builtOf(status, published.record);
  return { revision, artifactDigest, built, size, files, counts, problems: published.problems };
}

function standingOf({ fault, published }: SourceState): Standing {
  if (fault) return { state: 'failed', reason: fault.reason as SourceFaultReason, message: fault.message };
  return published ? { state: 'ready' } : { state: 'progressing', message: 'Waiting for the first look' };
}
