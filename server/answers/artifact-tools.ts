// openkata's vocabulary: tools that list skills, rules and profiles, tell their versions, and give all files of one to be
// installed.
import { encodePath } from '../../catalogue/address.ts';
import { ContentUnavailable } from '../../catalogue/content.ts';
import { Slices } from '../../catalogue/slices.ts';
import type { ArtifactRow } from '../../catalogue/source-catalogue.ts';
import type { Downloads } from '../downloads/downloads.ts';
import type { Artifact } from '../snapshot/snapshot.ts';
import type { View } from '../view.ts';
import { artifactName, artifactNamed, artifactsByName, longName } from './artifact-names.ts';
import { installationManifest, installedFiles, versionOf } from './installation.ts';
import { bytesOf } from './read.ts';
import { rememberedByKind } from './remembered.ts';
import { failed, type PropertySchema, said, type Tool, type ToolAnswer } from './tool.ts';
import { inWords, shortened } from './words.ts';

export const toolKinds = ['skill', 'rule', 'profile'] as const;
export type ToolKind = (typeof toolKinds)[number];

type Given = Readonly<Record<string, unknown>>;

export const listToolOf = (kind: ToolKind): string => `list_${kind}s`;
export const installToolOf = (kind: ToolKind): string => `install_${kind}`;
const versionsToolOf = (kind: ToolKind): string => `${kind}_versions`;

/** Where agents keep what they install, a folder for each. */
const homes: Readonly<Record<ToolKind, string>> = {
  skill: '.agents/skills',
  rule: '.agents/rules',
  profile: 'profiles',
};

const nameProperty = (kind: ToolKind): PropertySchema => ({
  type: 'string',
  description: `The name of the ${kind}, as ${listToolOf(kind)} has it.`,
});

const listTool = (kind: ToolKind): Tool => ({
  name: listToolOf(kind),
  title: `List ${kind}s`,
  description: () =>
    `List the ${kind}s, as a JSON array of rows with name, version, description, tags and downloads. ` +
    `${installToolOf(kind)} gets one, ${versionsToolOf(kind)} tells its other versions.`,
  inputSchema: () => ({
    type: 'object',
    properties: {
      tag: {
        type: 'string',
        description: `Only ${kind}s that have this tag: one tag, the same in every character, upper and lower case too.`,
      },
    },
  }),
  shown: ({ artifactTools }) => artifactTools,
  call: async ({ tag }, view, _choices, downloads) =>
    isTextOrNothing(tag)
      ? said(await listOf(view, kind, tag || undefined, downloads))
      : failed(`\`tag\` of ${listToolOf(kind)} is one tag, a text. Leave it out for all.`),
});

const installTool = (kind: ToolKind): Tool => ({
  name: installToolOf(kind),
  title: `Install a ${kind}`,
  description: () =>
    `Get every file of a ${kind}, as JSON. Write them below ${homes[kind]}/<manifest.name>/: \`files\` has texts by path, \`blobs\` ` +
    'has other files in base64 by path, and `manifest` belongs beside them as .manifest.json.',
  inputSchema: () => ({
    type: 'object',
    properties: {
      [kind]: nameProperty(kind),
      version: {
        type: 'string',
        description: `One of the versions that ${versionsToolOf(kind)} tells. Leave it out for the newest.`,
      },
    },
    required: [kind],
  }),
  shown: ({ artifactTools }) => artifactTools,
  call: (given, view, _choices, downloads) => install(view, kind, given, downloads),
});

const versionsTool = (kind: ToolKind): Tool => ({
  name: versionsToolOf(kind),
  title: `List the versions of a ${kind}`,
  description: () =>
    `List the versions of a ${kind}, as a JSON array of texts, from the oldest to the newest; ` +
    'what is no SemVer stands behind them, by name.',
  inputSchema: () => ({ type: 'object', properties: { [kind]: nameProperty(kind) }, required: [kind] }),
  shown: ({ artifactTools }) => artifactTools,
  call: (given, view) => {
    const asked = artifactAsked(view, kind, given[kind], versionsToolOf(kind));
    if (typeof asked === 'string') return failed(asked);
    return said(JSON.stringify(asked.versions.map(({ version }) => version)));
  },
});

export const artifactTools: readonly Tool[] = [
  ...toolKinds.map(listTool),
  ...toolKinds.map(installTool),
  ...toolKinds.map(versionsTool),
];

const isTextOrNothing = (value: unknown): value is string | null | undefined =>
  value === undefined || value === null || typeof value === 'string';

/** The list as indented JSON, made in slices: of thousands of rows it takes longer than others should wait. */
async function listOf(view: View, kind: ToolKind, tag: string | undefined, downloads: Downloads): Promise<string> {
  const slices = new Slices();
  const rows: string[] = [];
  for (const artifact of artifactsByName(view, kind)) {
    if (slices.over) await slices.turn();
    const { version, description, tags } = artifact.row;
    if (tag !== undefined && !hasTag(tags, tag)) continue;
    const told = tags.length === 0 ? {} : { tags: tags.join(', ') };
    const row = {
      name: artifactName(view, artifact),
      version,
      description,
      ...told,
      downloads: downloads.of(artifact),
    };
    rows.push(JSON.stringify(row, null, 2).replaceAll('\n', '\n  '));
  }
  return rows.length === 0 ? '[]' : `[\n  ${rows.join(',\n  ')}\n]`;
}

/** A comma parts tags wherever it stands. */
const hasTag = (tags: readonly string[], tag: string): boolean =>
  tags.some((one) => one.split(',').some((word) => word.trim() === tag));

/** What a row takes besides its texts, in bytes. */
const rowOverhead = 128;

/** About how many bytes the whole list of a kind is. */
export const listedBytes = rememberedByKind((view: View, kind): number =>
  artifactsByName(view, kind).reduce((sum, artifact) => {
    const { row } = artifact;
    const tags = row.tags.reduce((length, tag) => length + tag.length + 2, 0);
    return sum + rowOverhead + artifactName(view, artifact).length + row.version.length + row.description.length + tags;
  }, 0),
);

/** @returns the artifact, or why there is none, for whoever asked */
function artifactAsked(view: View, kind: ToolKind, name: unknown, tool: string): Artifact | string {
  const list = listToolOf(kind);
  if (typeof name !== 'string' || name.trim() === '') {
    return `${tool} needs \`${kind}\`, the name of a ${kind}. Call ${list} for them.`;
  }
  const named = artifactNamed(view, kind, name);
  if (named === undefined) return `${kind} "${shortened(name)}" not found. Call ${list} to see what there is.`;
  if (!('candidates' in named)) return named;
  const { candidates } = named;
  const told = candidates.slice(0, mostCandidates);
  const more = candidates.length - told.length;
  const names = inWords(more === 0 ? told : [...told, `${more} more`]);
  return `${kind} "${shortened(name)}" is in more than one place: there is ${names}. Ask for one of them by that name.`;
}

const mostCandidates = 20;

/** More than that in one answer is nothing for an agent, and takes several times as much memory while it is made. */
const mostInstalled = 16 * 1024 * 1024;

/**
 * In characters, as they are sent: JSON in a text in JSON. Base64 is a third longer than what it stands for, a quote takes four
 * times its place and a control character seven times, so that of some texts the answer is far longer than they are.
 */
const longestSent = 1.5 * mostInstalled;

/** What a file takes besides its content and its path, which stands there twice: its digest above all. */
const fileOverhead = 96;

interface InstallAsked {
  artifact: Artifact;
  version: ArtifactRow;
  failure?: undefined;
}

interface InstallRefused {
  failure: string;
}

/** What an install is of, or why it cannot be. */
export function installAsked(view: View, kind: ToolKind, given: Given): InstallAsked | InstallRefused {
  const tool = installToolOf(kind);
  const artifact = artifactAsked(view, kind, given[kind], tool);
  if (typeof artifact === 'string') return { failure: artifact };
  const { version: wanted } = given;
  const versions = versionsToolOf(kind);
  if (!isTextOrNothing(wanted)) {
    return { failure: `\`version\` of ${tool} is a text, as ${versions} tells it. Leave it out for the newest.` };
  }
  const version = versionOf(artifact, wanted || undefined);
  const name = artifactName(view, artifact);
  if (version === undefined) {
    return {
      failure: `version ${shortened(wanted!)} not found for ${name}. Call ${versions} for those there are.`,
    };
  }
  if (bytesInAnswer(version) > mostInstalled) return { failure: tooLarge(name, artifact, version) };
  return { artifact, version };
}

const bytesInAnswer = (version: ArtifactRow): number =>
  installedFiles(version).reduce((sum, { path, size }) => sum + size + 2 * Buffer.byteLength(path) + fileOverhead, 0);

/** About how many bytes the answer is; 0 where there is none but a refusal. */
export const installedBytes = (asked: InstallAsked | InstallRefused): number =>
  asked.failure === undefined ? bytesInAnswer(asked.version) : 0;

const tooLarge = (name: string, artifact: Artifact, version: ArtifactRow): string =>
  `${name} ${version.version} is larger than one answer may be, ${mostInstalled / 1024 / 1024} MiB. ` +
  `Download ${archivePath(artifact, version)} of this gateway instead.`;

/** The name with the library is the artifact's in every scope. */
const archivePath = (artifact: Artifact, { version }: ArtifactRow): string =>
  `/${artifact.kind}s/${encodePath(longName(artifact))}/archive/${encodePath(version)}`;

async function install(view: View, kind: ToolKind, given: Given, downloads: Downloads): Promise<ToolAnswer> {
  const asked = installAsked(view, kind, given);
  if (asked.failure !== undefined) return failed(asked.failure);
  const { artifact, version } = asked;
  const name = artifactName(view, artifact);
  const slices = new Slices();
  const files: string[] = [];
  const blobs: string[] = [];
  let sent = 0;
  for (const file of installedFiles(version)) {
    try {
      const bytes = await bytesOf(view, file);
      const member = `${JSON.stringify(file.path)}:${JSON.stringify(bytes.toString(file.text ? 'utf8' : 'base64'))}`;
      (file.text ? files : blobs).push(member);
      sent += JSON.stringify(member).length;
    } catch (error) {
      if (!(error instanceof ContentUnavailable)) throw error;
      const what = `read files: ${shortened(file.path)} of ${name} ${version.version}`;
      return failed(`${what} cannot be read at the moment, so nothing of it is given. Try again in a minute.`);
    }
    if (sent > longestSent) return failed(tooLarge(name, artifact, version));
    if (slices.over) await slices.turn();
  }
  const manifest = installationManifest(view, artifact, version, new Date().toISOString());
  const head = JSON.stringify({ name, version: version.version, manifest }).slice(0, -1);
  const answer = `${head},"files":{${files.join(',')}},"blobs":{${blobs.join(',')}}}`;
  downloads.count(artifact, version.version, 'install');
  return { ...said(answer), touched: { kind, library: artifact.from.library } };
}
