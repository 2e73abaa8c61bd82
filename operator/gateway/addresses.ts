// Who keeps an address when several sources of one gateway want it. Pure. The older source keeps it, the others move.

import { artifactKey } from '../../catalogue/downloads-file.ts';
import type { Move } from '../../catalogue/index-file.ts';
import { addressInLibrary, qualifiedAddress, separatorOf } from '../../catalogue/qualified-address.ts';
import type { ArtifactRow, PackFileRow } from '../../catalogue/source-catalogue.ts';

/** The addresses of one source's catalogue, all relative to its library. */
export interface SourceAddresses {
  /** One for all versions of an artifact. */
  artifacts: Pick<ArtifactRow, 'kind' | 'address' | 'name' | 'folder'>[];
  files: PackFileRow['path'][];
}

/** A source as a claimant. The order of claimants is the order of their right to an address. */
export interface Claimant {
  name: string;
  library: string;
  addresses: SourceAddresses;
}

/** A row of a gateway's `conflicts`: an address without scheme, who wanted it, and where it is now (absent: rejected). */
export interface Conflict {
  address: string;
  source: string;
  movedTo?: string;
}

export interface Resolution {
  /** By source name; a source whose addresses all stand as they are has none. */
  moves: Map<string, Move[]>;
  conflicts: Conflict[];
  /** What the gateway has, each by its artifactKey. */
  artifacts: ReadonlySet<string>;
}

/** Artifacts are settled first, over all sources, since a pack file never stands at or below a skill's address. */
export function resolveAddresses(claimants: readonly Claimant[]): Resolution {
  const moves = new Map<string, Move[]>();
  const conflicts: Conflict[] = [];
  const skills = new Set<string>();
  const move = (source: string, entry: Move): void => {
    const list = moves.get(source);
    if (list) list.push(entry);
    else moves.set(source, [entry]);
  };

  const holders = new Map<string, string>();
  for (const { name: source, library, addresses } of claimants) {
    const own = new Set(addresses.artifacts.map(({ kind, address }) => `${kind} ${address}`));
    for (const { kind, address, name, folder } of addresses.artifacts) {
      const key = artifactKey(kind, library, address);
      const holder = holders.get(key);
      if (holder === undefined || holder === source) {
        holders.set(key, source);
        if (kind === 'skill') skills.add(`${library}/${address}`);
        continue;
      }
      const isTaken = (candidate: string): boolean =>
        own.has(`${kind} ${candidate}`) || holders.has(artifactKey(kind, library, candidate));
      const to = qualifiedAddress(source, folder, name, isTaken, separatorOf(kind));
      if (isTaken(to)) {
        move(source, { kind, from: address });
        conflicts.push({ address: addressInLibrary(library, kind, address), source });
        continue;
      }
      own.add(`${kind} ${to}`);
      holders.set(artifactKey(kind, library, to), source);
      if (kind === 'skill') skills.add(`${library}/${to}`);
      move(source, { kind, from: address, to });
      conflicts.push({
        address: addressInLibrary(library, kind, address),
        source,
        movedTo: addressInLibrary(library, kind, to),
      });
    }
  }

  const files = new Map<string, string>();
  for (const { name: source, library, addresses } of claimants) {
    for (const path of addresses.files) {
      const address = `${library}/${path}`;
      const holder = files.get(address);
      if (!belowSkill(skills, address) && (holder === undefined || holder === source)) {
        files.set(address, source);
        continue;
      }
      move(source, { kind: 'file', from: path });
      conflicts.push({ address, source });
    }
  }
  return { moves, conflicts, artifacts: new Set(holders.keys()) };
}

/** A skill's address has one or two segments below the library. */
function belowSkill(skills: ReadonlySet<string>, address: string): boolean {
  const first = endOfSegment(address, address.indexOf('/') + 1);
  return skills.has(address.slice(0, first)) || skills.has(address.slice(0, endOfSegment(address, first + 1)));
}

function endOfSegment(address: string, from: number): number {
  const slash = address.indexOf('/', from);
  return slash === -1 ? address.length : slash;
}
