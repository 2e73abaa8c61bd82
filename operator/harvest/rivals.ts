// When several artifacts of one source want one address: the same bytes are one artifact, the first keeps the address,
// the others get a second one. Pure.
import { digestOf } from '../../catalogue/digest.ts';
import { qualifiedAddress } from '../../catalogue/qualified-address.ts';
import type { Slices } from '../../catalogue/slices.ts';
import type { FileRow } from '../../catalogue/source-catalogue.ts';

export interface Claim<Of> {
  /** The address it wants, relative to the library. */
  name: string;
  /** Its own folder, below the subdirectory. */
  folder: string;
  files: FileRow[];
  /** Names the files of the folder that are not among `files`. */
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

/** @param claims in the order of their right to an address */
export async function settleRivals<Of>(
  claims: readonly Claim<Of>[],
  source: string,
  slices: Slices,
): Promise<Settled<Of>> {
  const settled: Settled<Of> = { served: [], duplicates: [], moved: [] };
  for (const rivals of Map.groupBy(claims, ({ name }) => name).values()) {
    await settle(rivals, source, settled, slices);
  }
  return settled;
}

async function settle<Of>(
  rivals: readonly Claim<Of>[],
  source: string,
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
    const qualified = qualifiedAddress(source, claim.folder, claim.name, (address) => used.has(address));
    used.add(qualified);
    const address = claim === holder ? claim.name : qualified;
    settled.served.push({ claim, address });
    if (claim !== holder) settled.moved.push({ claim, address, holder });
  }
}

const bytesOf = ({ files, lost }: Claim<unknown>): string =>
  digestOf(JSON.stringify([files.map(({ path, digest }) => [path, digest]), lost]));
