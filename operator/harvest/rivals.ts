// When several artifacts of one source want one address: the same bytes are one artifact, the first keeps the address,
// the others get a second one. Pure.
import { digestOf } from '../../catalogue/digest.ts';
import { qualifiedAddress, type Separator } from '../../catalogue/qualified-address.ts';
import type { Slices } from '../../catalogue/slices.ts';
import type { FileRow } from '../../catalogue/source-catalogue.ts';

export interface Claim<Of> {
  /** The address it wants, relative to the library. */
  name: string;
  /** Its own folder, below the subdirectory; of a single file its path without extensions. */
  folder: string;
  /** Whether it is one file in a folder of many, whose name is then not compared. */
  isSingle: boolean;
  files: FileRow[];
  /** Names the files of the folder that are not among `files`, or what else tells two apart. */
  lost: string;
  of: Of;
}

export interface Settled<Of> {
  served: { claim: Claim<Of>; address: string }[];
  /** `like`: the one that is served. */
  duplicates: { claim: Claim<Of>; like: Claim<Of> }[];
  /** Those among the served that do not stand at their name, with who does. */
  moved: { claim: Claim<Of>; address: string; holder: Claim<Of> }[];
}

/**
 * @param claims of one kind, in the order of their right to an address
 * @param separator what stands between a qualifier and a name
 */
export async function settleRivals<Of>(
  claims: readonly Claim<Of>[],
  source: string,
  separator: Separator,
  slices: Slices,
): Promise<Settled<Of>> {
  const settled: Settled<Of> = { served: [], duplicates: [], moved: [] };
  const byName = Map.groupBy(claims, ({ name }) => name);
  for (const rivals of byName.values()) await settle(rivals, source, separator, byName, settled, slices);
  return settled;
}

async function settle<Of>(
  rivals: readonly Claim<Of>[],
  source: string,
  separator: Separator,
  names: ReadonlyMap<string, unknown>,
  settled: Settled<Of>,
  slices: Slices,
): Promise<void> {
  const holder = rivals[0]!;
  if (rivals.length === 1) {
    settled.served.push({ claim: holder, address: holder.name });
    return;
  }
  const byBytes = new Map<string, Claim<Of>>();
  const used = new Set<string>();
  for (const claim of rivals) {
    if (slices.over) await slices.turn();
    const bytes = bytesOf(claim);
    const like = byBytes.get(bytes);
    if (like !== undefined) {
      settled.duplicates.push({ claim, like });
      continue;
    }
    byBytes.set(bytes, claim);
    const isTaken = (address: string) => used.has(address) || names.has(address);
    const qualified = qualifiedAddress(source, claim.folder, claim.name, isTaken, separator);
    used.add(qualified);
    const address = claim === holder ? claim.name : qualified;
    settled.served.push({ claim, address });
    if (claim !== holder) settled.moved.push({ claim, address, holder });
  }
}

const bytesOf = ({ files, lost, isSingle }: Claim<unknown>): string =>
  digestOf(JSON.stringify([files.map(({ path, digest }) => (isSingle ? digest : [path, digest])), lost]));
