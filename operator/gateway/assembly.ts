// The content of a gateway's index.json, from its spec and what is known of the sources it selects. Pure.
import type { IndexContent, IndexSource, LiveSetting, SourceState } from '../../catalogue/index-file.ts';
import type { Counts } from '../../catalogue/source-catalogue.ts';
import type { SkillGatewaySpec } from '../resources/skill-gateway.ts';
import { type Conflict, resolveAddresses, type SourceAddresses } from './addresses.ts';

/** A folder that the servers look at themselves, with the Secret that their pods need for it. */
export interface LiveView extends LiveSetting {
  secret: string;
}

/** What a gateway is told of one source. */
export interface SourceView {
  name: string;
  state: SourceState;
  /** Why it is not ok: the reason of the Ready condition. */
  reason?: string;
  library: string;
  tags: string[];
  refreshSeconds?: number;
  live?: LiveView;
  published?: PublishedSource;
}

/** What a source has on the volume. */
export interface PublishedSource {
  revision: string;
  built: string;
  counts: Counts;
  catalogue: NonNullable<IndexSource['catalogue']>;
  addresses: SourceAddresses;
}

export interface Assembly {
  content: IndexContent;
  conflicts: Conflict[];
  totals: CatalogueTotals;
  /** What the gateway has, each by its artifactKey. */
  artifacts: ReadonlySet<string>;
}

export interface CatalogueTotals {
  libraries: number;
  skills: number;
  prompts: number;
  rules: number;
  profiles: number;
  sources: number;
  staleSources: number;
}

/** @param views the selected sources, in the order of their right to an address */
export function assemble(spec: SkillGatewaySpec, views: readonly SourceView[]): Assembly {
  const served = views.filter((view) => view.published !== undefined);
  const { moves, conflicts, artifacts } = resolveAddresses(
    served.map(({ name, library, published }) => ({ name, library, addresses: published!.addresses })),
  );
  const sources: IndexSource[] = views.map((view) => ({
    name: view.name,
    state: view.state,
    ...(view.reason === undefined ? {} : { reason: view.reason }),
    library: view.library,
    tags: view.tags,
    ...(view.refreshSeconds === undefined ? {} : { refreshSeconds: view.refreshSeconds }),
    ...(view.published === undefined
      ? {}
      : {
          revision: view.published.revision,
          built: view.published.built,
          counts: view.published.counts,
          catalogue: view.published.catalogue,
        }),
    ...(view.live === undefined ? {} : { live: settingOf(view.live) }),
    moves: moves.get(view.name) ?? [],
  }));
  return {
    content: {
      ...(spec.instructions === undefined ? {} : { instructions: spec.instructions }),
      scope: spec.scope,
      ...(spec.allowedOrigins === undefined ? {} : { allowedOrigins: spec.allowedOrigins }),
      ...hostsOf(spec),
      reindex: spec.reindex,
      libraries: spec.libraries,
      sources,
    },
    conflicts,
    totals: totalsOf(views),
    artifacts,
  };
}

/** The names by which it is reached from outside, as far as the spec has any. */
function hostsOf({ ingress, httpRoute }: SkillGatewaySpec): Pick<IndexContent, 'hosts'> {
  const hosts = new Set([...(ingress === undefined ? [] : [ingress.host]), ...(httpRoute?.hostnames ?? [])]);
  return hosts.size === 0 ? {} : { hosts: [...hosts] };
}

const settingOf = ({ url, subdirectory, fileSize }: LiveView): LiveSetting => ({ url, subdirectory, fileSize });

function totalsOf(views: readonly SourceView[]): CatalogueTotals {
  const served = views.flatMap((view) => (view.published === undefined ? [] : [{ ...view, ...view.published }]));
  const sum = (kind: keyof Counts): number => served.reduce((total, { counts }) => total + counts[kind], 0);
  return {
    libraries: new Set(served.map(({ library }) => library)).size,
    skills: sum('skills'),
    prompts: sum('prompts'),
    rules: sum('rules'),
    profiles: sum('profiles'),
    sources: views.length,
    staleSources: views.filter(({ state }) => state === 'stale').length,
  };
}
