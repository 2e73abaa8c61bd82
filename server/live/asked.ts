// Which files a request is about to read or to tell the digests of: those that Live sources are asked for first.
import { visiblePrompt } from '../answers/prompts.ts';
import { resolve } from '../answers/read.ts';
import { skillOfMain } from '../answers/skills.ts';
import { type Artifact, mainFile } from '../snapshot/snapshot.ts';
import type { View } from '../view.ts';
import type { AskedFiles } from './live-catalogue.ts';

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
};

/** @param body of a POST to /mcp, parsed; what is no request of such a kind asks for no file */
export function askedFiles(view: View, body: unknown): AskedFiles[] {
  if (!isParams(body)) return [];
  const { method, params } = body;
  if (typeof method !== 'string' || !Object.hasOwn(byMethod, method)) return [];
  return byMethod[method]!(view, isParams(params) ? params : {});
}

/** How many bytes of files a request is about to read. */
export const bytesAsked = (view: View, body: unknown): number =>
  askedFiles(view, body)
    .flatMap(({ row, paths }) => ('files' in row ? row.files : [row]).filter(({ path }) => paths?.includes(path)))
    .reduce((sum, { size }) => sum + size, 0);

/** Every file of an artifact. */
export const filesOf = (artifact: Artifact | undefined): AskedFiles[] =>
  artifact === undefined ? [] : [{ source: artifact.from.name, row: artifact.row }];

function filesAt(view: View, uri: unknown): AskedFiles[] {
  const target = typeof uri === 'string' ? resolve(view, uri) : undefined;
  if (target === undefined || 'text' in target) return [];
  if ('manifestOf' in target) return filesOf(target.manifestOf);
  const { owner, file } = target;
  return [{ source: owner.from.name, row: owner.row, paths: [file.path] }];
}

function textOf(view: View, name: unknown): AskedFiles[] {
  const prompt = typeof name === 'string' ? visiblePrompt(view, name) : undefined;
  const main = prompt && mainFile(prompt.row);
  return prompt && main ? [{ source: prompt.from.name, row: prompt.row, paths: [main.path] }] : [];
}

const isParams = (value: unknown): value is Params =>
  typeof value === 'object' && value !== null && !Array.isArray(value);
