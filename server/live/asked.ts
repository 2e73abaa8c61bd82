// Which files a request is about to read or to tell the digests of: those that Live sources are asked for first.
import {
  installAsked,
  installedBytes,
  installToolOf,
  listedBytes,
  listToolOf,
  type ToolKind,
  toolKinds,
} from '../answers/artifact-tools.ts';
import { installedFiles } from '../answers/installation.ts';
import { visiblePrompt } from '../answers/prompts.ts';
import { resolve } from '../answers/read.ts';
import { skillOfMain } from '../answers/skills.ts';
import { type Artifact, mainFile } from '../snapshot/snapshot.ts';
import type { View } from '../view.ts';
import type { AskedFiles } from './asked-files.ts';

type Params = Readonly<Record<string, unknown>>;

const byMethod: Readonly<Record<string, (view: View, params: Params) => AskedFiles[]>> = {
  'resources/read': (view, { uri }) => filesAt(view, uri),
  // Also of one that does not conform as it is known: it may have been mended.
  'skills/get': (view, { uri }) => filesOf(typeof uri === 'string' ? skillOfMain(view, uri) : undefined),
  'prompts/get': (view, { name }) => textOf(view, name),
  'tools/call': (view, { name, arguments: given }) =>
    typeof name === 'string' && Object.hasOwn(byTool, name) ? byTool[name]!(view, isParams(given) ? given : {}) : [],
};

const byTool: Readonly<Record<string, (view: View, given: Params) => AskedFiles[]>> = {
  read_resource: (view, { uri }) => filesAt(view, uri),
  get_prompt: (view, { name }) => textOf(view, name),
  ...Object.fromEntries(
    toolKinds.map((kind) => [installToolOf(kind), (view: View, given: Params) => filesToInstall(view, kind, given)]),
  ),
};

/** @param body of a POST to /mcp, parsed; what is no request of such a kind asks for no file */
export function askedFiles(view: View, body: unknown): AskedFiles[] {
  if (!isParams(body)) return [];
  const { method, params } = body;
  if (typeof method !== 'string' || !Object.hasOwn(byMethod, method)) return [];
  return byMethod[method]!(view, isParams(params) ? params : {});
}

/** Answers that are more than the files in them. */
const bytesByTool: Readonly<Record<string, (view: View, given: Params) => number>> = Object.fromEntries(
  toolKinds.flatMap((kind) => [
    [listToolOf(kind), (view: View) => listedBytes(view, kind)],
    [installToolOf(kind), (view: View, given: Params) => installedBytes(installAsked(view, kind, given))],
  ]),
);

/** How many bytes a request is about to read from files, or to tell in one piece. */
export function bytesAsked(view: View, body: unknown): number {
  const { method, params } = isParams(body) ? body : {};
  const { name, arguments: given } = isParams(params) ? params : {};
  if (method === 'tools/call' && typeof name === 'string' && Object.hasOwn(bytesByTool, name)) {
    return bytesByTool[name]!(view, isParams(given) ? given : {});
  }
  return askedFiles(view, body)
    .flatMap(({ row, paths }) => ('files' in row ? row.files : [row]).filter(({ path }) => paths?.has(path)))
    .reduce((sum, { size }) => sum + size, 0);
}

/** Every file of an artifact. */
export const filesOf = (artifact: Artifact | undefined): AskedFiles[] =>
  artifact === undefined ? [] : [{ source: artifact.from.name, row: artifact.row }];

function filesAt(view: View, uri: unknown): AskedFiles[] {
  const target = typeof uri === 'string' ? resolve(view, uri) : undefined;
  if (target === undefined || 'text' in target) return [];
  if ('manifestOf' in target) return filesOf(target.manifestOf);
  const { owner, file } = target;
  return [{ source: owner.from.name, row: owner.row, paths: new Set([file.path]) }];
}

function textOf(view: View, name: unknown): AskedFiles[] {
  const prompt = typeof name === 'string' ? visiblePrompt(view, name) : undefined;
  const main = prompt && mainFile(prompt.row);
  return prompt && main ? [{ source: prompt.from.name, row: prompt.row, paths: new Set([main.path]) }] : [];
}

function filesToInstall(view: View, kind: ToolKind, given: Params): AskedFiles[] {
  const asked = installAsked(view, kind, given);
  if (asked.failure !== undefined) return [];
  const { artifact, version } = asked;
  const paths = new Set(installedFiles(version).map(({ path }) => path));
  return [{ source: artifact.from.name, row: version, paths }];
}

const isParams = (value: unknown): value is Params =>
  typeof value === 'object' && value !== null && !Array.isArray(value);
