// What GET /health says: the state of the catalogue and of each source. No address of a backend, no message of one.
import { countsOf, type Snapshot, type Source, servedCounts } from '../snapshot/snapshot.ts';
import type { LoadFault } from '../snapshot/watch.ts';
import type { CurrentCatalogue } from './catalogue.ts';

/** The scope is ignored here; the state is told of the whole gateway. */
export function healthBody(catalogue: CurrentCatalogue) {
  const { snapshot, fault } = catalogue;
  const problem = fault === undefined ? {} : { catalogue: fault };
  if (snapshot === undefined) return { status: 'starting', ...problem };
  const { index, sources } = snapshot;
  const alive = sources.filter(({ settings: { state } }) => state === 'ok' || state === 'stale');
  return {
    status: 'ok',
    generation: index.generation,
    built: index.published,
    libraries: [...new Set(alive.map(({ settings }) => settings.library))].sort(),
    ...servedCounts(snapshot),
    sources: Object.fromEntries(sources.map((source) => [source.settings.name, sourceState(source, catalogue)])),
    ...problem,
  };
}

function sourceState({ settings, content }: Source, catalogue: CurrentCatalogue) {
  const { name, state, library, built, revision, reason } = settings;
  return {
    status: state,
    library,
    ...countsOf(content.artifacts),
    files: content.files.length,
    ...(built === undefined ? {} : { built }),
    ...(revision === undefined ? {} : { fingerprint: revision }),
    ...catalogue.liveState?.(name),
    ...(reason === undefined || state === 'ok' ? {} : { error: reason }),
  };
}

export type Readiness = { ready: true } | { ready: false; why: string };

/** Ready once a catalogue is loaded, and until the server is told to stop. */
export function readiness(snapshot: Snapshot | undefined, fault: LoadFault | undefined, closing: boolean): Readiness {
  if (closing) return { ready: false, why: 'the server is stopping' };
  if (snapshot !== undefined) return { ready: true };
  return { ready: false, why: fault?.message ?? 'no catalogue is loaded yet' };
}
