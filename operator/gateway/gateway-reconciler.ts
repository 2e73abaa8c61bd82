// The reconciler of SkillGateway: select, assemble, publish index.json, tell the status. Idempotent at every step.
import type { Logger } from 'pino';
import type { Cluster, KubernetesObject, ObjectKey } from '../kubernetes/cluster.ts';
import type { GatewayMetrics } from '../metrics.ts';
import type { Claim } from '../publish/claim.ts';
import { publishIndex } from '../publish/gateway-publication.ts';
import type { Volume } from '../publish/volume.ts';
import { SourceFault } from '../reasons.ts';
import { conditionOf, conditionsOf, rfc3339 } from '../reconcile/conditions.ts';
import type { ReconcileResult } from '../reconcile/controller.ts';
import { parseSkillGateway } from '../resources/parse.ts';
import type { SkillGatewaySpec } from '../resources/skill-gateway.ts';
import { type Access, accessOf } from './access.ts';
import { type Assembly, assemble, type SourceView } from './assembly.ts';
import { faultOf, standingEvent } from './gateway-events.ts';
import type { GatewayPods } from './gateway-pods.ts';
import { type GatewayStanding, gatewayStatus, type PublishedCatalogue } from './gateway-status.ts';
import { liveSecretsOf } from './live.ts';
import { selectSources } from './selection.ts';

export interface GatewayReconcilerOptions {
  cluster: Cluster;
  volume: Volume;
  /** Where one of several operators is elected. */
  claim?: Claim | undefined;
  /** What is known of a source; undefined before anything is. */
  viewOf(source: KubernetesObject): SourceView | Promise<SourceView>;
  /** Where clients reach a gateway, when the installation knows it. */
  urlOf(gateway: KubernetesObject): string | undefined;
  metrics: GatewayMetrics;
  /** The gateways' pods, where the operator starts any. */
  pods: GatewayPods | undefined;
  now(): number;
  log: Logger;
}

/** Seconds until a volume that refused a write is tried again. */
const storageRetrySeconds = 10;

export class GatewayReconciler {
  readonly #options: GatewayReconcilerOptions;
  readonly #published = new Map<ObjectKey, PublishedCatalogue>();
  /** The last assembly of each gateway, and from what it was made. */
  readonly #assembled = new Map<ObjectKey, { from: string; assembly: Assembly }>();

  /** Who may use each gateway, as its Secret said last. */
  readonly #accesses = new Map<ObjectKey, Access>();
  /** What events said last of each gateway. */
  readonly #told = new Map<ObjectKey, { fault: string | undefined }>();

  constructor(options: GatewayReconcilerOptions) {
    this.#options = options;
  }

  /** The generation that is published, as far as is known since the start. */
  generation(key: ObjectKey): number | undefined {
    return this.#published.get(key)?.generation;
  }

  /** What its catalogue has, each by its artifactKey, as far as it was assembled since the start. */
  artifacts(key: ObjectKey): ReadonlySet<string> | undefined {
    return this.#assembled.get(key)?.assembly.artifacts;
  }

  /** resourceVersion of the Secret that a gateway's tokens are of, `absent` for none, undefined before it was read. */
  secretVersion(key: ObjectKey): string | undefined {
    return this.#accesses.get(key)?.secret.version;
  }

  /** @throws KubernetesError when a Secret cannot be read or the status cannot be written; Displaced by another operator */
  async reconcile(key: ObjectKey): Promise<ReconcileResult> {
    const gateway = this.#options.cluster.gateways.get(key);
    if (gateway === undefined || gateway.metadata.deletionTimestamp !== undefined) {
      this.#published.delete(key);
      this.#assembled.delete(key);
      this.#accesses.delete(key);
      this.#told.delete(key);
      this.#options.pods?.forget(key);
      this.#options.metrics.forget(key);
      return {};
    }
    const parsed = parseSkillGateway(gateway);
    if (!parsed.ok) {
      await this.#tell(gateway, { fault: { reason: 'InvalidSpec', message: parsed.message } });
      return {};
    }
    const { pods: gatewayPods } = this.#options;
    const outOfReach = gatewayPods?.outOfReach(gateway, parsed.spec);
    if (outOfReach !== undefined) {
      await this.#tell(gateway, { pods: outOfReach });
      return {};
    }
    await gatewayPods?.close(gateway, parsed.spec);
    const access = await this.#access(key, gateway, parsed.spec);
    const catalogue = await this.#publish(key, gateway, parsed.spec, access);
    const live = liveSecretsOf(this.#selectedBy(gateway, parsed.spec).selected);
    const pods = await gatewayPods?.settle(gateway, parsed.spec, live, catalogue.fault === undefined);
    await this.#tell(gateway, {
      ...catalogue,
      ...(access === undefined ? {} : { access }),
      ...(pods === undefined ? {} : { pods }),
    });
    const waits = [catalogue.fault && storageRetrySeconds, pods?.requeueAfterSeconds].filter(
      (wait) => wait !== undefined,
    );
    return waits.length === 0 ? {} : { requeueAfterSeconds: Math.min(...waits) };
  }

  /** Undefined where the gateway is open. */
  async #access(
    key: ObjectKey,
    { metadata }: KubernetesObject,
    { auth }: SkillGatewaySpec,
  ): Promise<Access | undefined> {
    if (auth === undefined) {
      this.#accesses.delete(key);
      return undefined;
    }
    const before = this.#accesses.get(key);
    const access = await accessOf(this.#options.cluster, metadata.namespace, auth, before);
    this.#accesses.set(key, access);
    const { log } = this.#options;
    if (access.fault !== undefined && access.fault.message !== before?.fault?.message) {
      log.warn({ gateway: key, ...access.fault }, 'tokens not usable');
    }
    return access;
  }

  async #publish(
    key: ObjectKey,
    gateway: KubernetesObject,
    spec: SkillGatewaySpec,
    access: Access | undefined,
  ): Promise<GatewayStanding> {
    try {
      return { sources: await this.#publishSources(key, gateway, spec, access) };
    } catch (error) {
      if (!(error instanceof SourceFault && error.reason === 'StorageFailed')) throw error;
      return { fault: { reason: 'StorageFailed', message: error.message } };
    }
  }

  async #publishSources(
    key: ObjectKey,
    gateway: KubernetesObject,
    spec: SkillGatewaySpec,
    access: Access | undefined,
  ): Promise<NonNullable<GatewayStanding['sources']>> {
    const { volume, claim, viewOf, log } = this.#options;
    const { namespace, name } = gateway.metadata;
    const { selected, missing } = this.#selectedBy(gateway, spec);
    const views = await Promise.all(selected.map((source) => viewOf(source)));
    const { content, conflicts, totals } = this.#assemble(key, spec, views);
    const auth = access === undefined ? {} : { auth: access.setting };
    const { generation, digest, changed } = await publishIndex(
      volume,
      { namespace, name },
      { ...content, ...auth },
      Date.now(),
      claim,
    );
    this.#published.set(key, { digest, generation, totals, conflicts });
    if (changed)
      log.info({ gateway: key, generation, skills: totals.skills, sources: totals.sources }, 'catalogue published');
    return { views, missing };
  }

  #selectedBy({ metadata: { namespace } }: KubernetesObject, spec: SkillGatewaySpec): ReturnType<typeof selectSources> {
    const candidates = this.#options.cluster.sources.list().filter((source) => source.metadata.namespace === namespace);
    return selectSources(spec.sources, candidates);
  }

  /** Settling the addresses of many thousand skills takes its time: it is done when a catalogue or the spec changed. */
  #assemble(key: ObjectKey, spec: SkillGatewaySpec, views: readonly SourceView[]): Assembly {
    const from = JSON.stringify([
      spec,
      views.map((view) => ({ ...view, published: view.published && { ...view.published, addresses: undefined } })),
    ]);
    const known = this.#assembled.get(key);
    if (known?.from === from) return known.assembly;
    const assembly = assemble(spec, views);
    this.#assembled.set(key, { from, assembly });
    return assembly;
  }

  async #tell(gateway: KubernetesObject, standing: GatewayStanding): Promise<void> {
    const { cluster, urlOf, metrics, now } = this.#options;
    const key = `${gateway.metadata.namespace}/${gateway.metadata.name}`;
    const status = gatewayStatus({
      before: gateway.status,
      generation: gateway.metadata.generation,
      standing,
      published: this.#published.get(key),
      url: urlOf(gateway),
      now: rfc3339(now()),
    });
    const isTrue = (type: string): boolean =>
      conditionsOf(status).some((condition) => condition.type === type && condition.status === 'True');
    const { generation } = this.#published.get(key) ?? {};
    metrics.standing(key, { ready: isTrue('Ready'), sourcesReady: isTrue('SourcesReady'), generation });
    await cluster.applyStatus(gateway, status);
    const { fault: before } = this.#told.get(key) ?? { fault: faultOf(conditionOf(gateway.status, 'Ready')) };
    const { fault, event } = standingEvent(before, conditionOf(status, 'Ready'));
    this.#told.set(key, { fault });
    if (event !== undefined) cluster.recordEvent(gateway, event);
  }
}
