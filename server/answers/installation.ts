// What is taken of a version of an artifact, whether by a tool or as an archive: its files but those that are for its authors,
// and a manifest with the digest of each, by which a later look finds what has changed.
import type { ArtifactRow, FileRow } from '../../catalogue/source-catalogue.ts';
import type { Artifact } from '../snapshot/snapshot.ts';
import type { View } from '../view.ts';

/** Where the manifest stands beside the files. */
export const manifestPath = '.manifest.json';

export interface InstallationManifest {
  /** The bare name, which is the same in every scope. */
  name: string;
  version: string;
  /** `<SkillSource>@<revision>` */
  source: string;
  /** RFC 3339, in UTC; empty in an archive, which is the same whenever it is made. */
  installedAt: string;
  /** `sha256:<hex>` by path. */
  checksums: Record<string, string>;
}

const forAuthors: ReadonlySet<string> = new Set([
  'CHANGELOG.md',
  'RATIONALE.md',
  'tile.json',
  '.tesslignore',
  'references/ACKNOWLEDGMENTS.md',
]);
const foldersForAuthors = ['evals/', '.tessl-plugin/'];

const isInstalled = ({ path }: FileRow): boolean =>
  !forAuthors.has(path) && path !== manifestPath && !foldersForAuthors.some((folder) => path.startsWith(folder));

/** Sorted by code point of the path. */
export const installedFiles = ({ files }: ArtifactRow): FileRow[] => files.filter(isInstalled);

/** @param version its name; the newest where it is left out */
export const versionOf = ({ row, versions }: Artifact, version?: string): ArtifactRow | undefined =>
  version === undefined ? row : versions.find((one) => one.version === version);

/** `<SkillSource>@<revision>`, as a manifest names it. */
export function installedFrom({ snapshot }: View, { from }: Artifact): string {
  const revision = snapshot.sources.find(({ settings }) => settings.name === from.name)?.settings.revision;
  return revision === undefined ? from.name : `${from.name}@${revision}`;
}

/** @param version one of the artifact's */
export function installationManifest(
  view: View,
  artifact: Artifact,
  version: ArtifactRow,
  installedAt: string,
): InstallationManifest {
  return {
    name: artifact.row.name,
    version: version.version,
    source: installedFrom(view, artifact),
    installedAt,
    checksums: Object.fromEntries(installedFiles(version).map(({ path, digest }) => [path, digest])),
  };
}
