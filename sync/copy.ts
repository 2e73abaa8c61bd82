// One copy of what a gateway has published: what its index.json names first, index.json last.
import type { Readable } from 'node:stream';
import { digestOf } from '../catalogue/digest.ts';
import type { Index } from '../catalogue/index-file.ts';
import { longestIndex, parseIndex } from '../catalogue/index-reader.ts';
import { indexPath } from '../catalogue/layout.ts';
import { applyLineDelta, DeltaBroken, longestForDelta } from '../catalogue/line-delta.ts';
import type { CatalogueRef } from '../catalogue/source-catalogue.ts';
import { readSourceHeader } from '../catalogue/source-catalogue-reader.ts';
import { CatalogueUnreadable } from '../catalogue/unreadable.ts';
import { SyncFault } from './fault.ts';
import type { Folder } from './folder.ts';
import type { OperatorAnswer, OperatorClient } from './operator-client.ts';
import type { Room } from './room.ts';
import { digestOfFile, indexHolds } from './verify.ts';
import { type WantedSegment, wantedCatalogues, wantedSegments } from './wanted.ts';

export interface CopyParts {
  client: Pick<OperatorClient, 'get'>;
  folder: Folder;
  room: Room;
  namespace: string;
  gateway: string;
  /** Told of every byte that the operator sends. */
  received(bytes: number): void;
}

export interface Copied {
  generation: number;
  /** Of the index.json that is in the folder now. */
  etag: string;
  /** Paths of everything that it needs, itself among them. */
  needs: ReadonlySet<string>;
}

const deltaType = 'application/vnd.lyceum.line-delta';
/** The call waits so long for something new, in seconds; longer than an operator's answer without that takes. */
const waitSeconds = 20;

/**
 * @param before what is in the folder
 * @returns undefined when nothing else is published; otherwise how long it took, without what was waited for news
 * @throws SyncFault: index.json and what it needs are then as they were; the signal's reason
 */
export async function copy(
  parts: CopyParts,
  before: { etag: string; index: Index } | undefined,
  signal: AbortSignal,
): Promise<(Copied & { index: Index; seconds: number }) | undefined> {
  const { client, folder, room, namespace, gateway } = parts;
  const headers: Record<string, string> =
    before === undefined ? {} : { 'if-none-match': before.etag, prefer: `wait=${waitSeconds}` };
  const answer = await client.get('/catalogue/index.json', {}, headers, signal);
  if (answer.status === 304) {
    answer.body.resume();
    return undefined;
  }
  const began = performance.now();
  const bytes = await whole(parts, answer.body, longestIndex);
  const index = parsed(namespace, gateway, bytes);
  const needs = new Set([indexPath(namespace, gateway)]);

  const catalogues = wantedCatalogues(index);
  await room.take(
    catalogues.map(({ ref }) => ({ path: ref.path, size: ref.size })),
    needs,
  );
  for (const { source, ref } of catalogues) {
    needs.add(ref.path);
    const known = before?.index.sources.find(({ name }) => name === source)?.catalogue;
    await copyCatalogue(parts, ref, known, signal);
  }
  const segments: WantedSegment[] = [];
  for (const { source, ref } of catalogues) {
    const { segments: refs } = await readable(() => readSourceHeader(folder.root, ref.path));
    segments.push(...wantedSegments(namespace, source, refs));
  }
  const files = segments.flatMap(({ path, indexPath, indexSize, ref }) => [
    { path, size: ref.size },
    { path: indexPath, size: indexSize },
  ]);
  await room.take(files, needs);
  for (const { path } of files) needs.add(path);
  for (const segment of segments) await copySegment(parts, segment, signal);
  await folder.write(indexPath(namespace, gateway), bytes);
  const seconds = (performance.now() - began) / 1000;
  return { generation: index.generation, etag: etagOf(bytes), needs, index, seconds };
}

/** What a folder holds, when all of it is there; undefined otherwise. @throws SyncFault StorageFailed */
export async function whatIsThere(
  folder: Folder,
  namespace: string,
  gateway: string,
): Promise<(Copied & { index: Index }) | undefined> {
  const bytes = await folder.read(indexPath(namespace, gateway));
  if (bytes === undefined) return undefined;
  const needs = new Set([indexPath(namespace, gateway)]);
  try {
    const index = parsed(namespace, gateway, bytes);
    for (const { source, ref } of wantedCatalogues(index)) {
      if ((await folder.size(ref.path)) !== ref.size) return undefined;
      needs.add(ref.path);
      const { segments } = await readSourceHeader(folder.root, ref.path);
      for (const segment of wantedSegments(namespace, source, segments)) {
        if (!(await hasSegment(folder, segment))) return undefined;
        needs.add(segment.path).add(segment.indexPath);
      }
    }
    return { generation: index.generation, etag: etagOf(bytes), needs, index };
  } catch (error) {
    if (error instanceof CatalogueUnreadable || (error instanceof SyncFault && error.reason !== 'StorageFailed')) {
      return undefined;
    }
    throw error;
  }
}

/** What is new in it where the one before is there, all of it otherwise. */
async function copyCatalogue(
  parts: CopyParts,
  ref: CatalogueRef,
  known: CatalogueRef | undefined,
  signal: AbortSignal,
): Promise<void> {
  const { client, folder } = parts;
  if ((await folder.size(ref.path)) === ref.size) return;
  const base = known === undefined || known.size > longestForDelta ? undefined : await folder.read(known.path);
  if (base !== undefined && known !== undefined) {
    const query = { digest: ref.digest, base: known.digest };
    const answer = await client.get('/catalogue/source', query, {}, signal);
    if (answer.headers['content-type'] !== deltaType) {
      await keep(parts, answer, ref, 0);
      return await folder.settle(growingOf(folder, ref.digest), ref.path);
    }
    const bytes = merged(base, await whole(parts, answer.body, ref.size), ref);
    if (bytes !== undefined) return await folder.write(ref.path, bytes);
  }
  await copyFile(parts, '/catalogue/source', ref, signal);
  await folder.settle(growingOf(folder, ref.digest), ref.path);
}

/** Undefined where they do not make the file: it is then copied whole. */
function merged(base: Buffer, delta: Buffer, { digest, size }: CatalogueRef): Buffer | undefined {
  try {
    const bytes = applyLineDelta(base, delta, size);
    return digestOf(bytes) === digest ? bytes : undefined;
  } catch (error) {
    if (error instanceof DeltaBroken) return undefined;
    throw error;
  }
}

async function copySegment(parts: CopyParts, segment: WantedSegment, signal: AbortSignal): Promise<void> {
  const { client, folder } = parts;
  if (await hasSegment(folder, segment)) return;
  const { ref, path, indexPath, indexSize } = segment;
  await copyFile(parts, '/catalogue/segment', ref, signal);
  const growing = growingOf(folder, ref.digest);
  const { body } = await client.get('/catalogue/segment-index', { digest: ref.digest }, {}, signal);
  const records = await whole(parts, body, indexSize);
  if (!(await indexHolds(folder.absolute(growing), ref, records))) throw mismatch(`the index of segment ${ref.digest}`);
  await folder.write(indexPath, records);
  await folder.settle(growing, path);
}

async function hasSegment(folder: Folder, { ref, path, indexPath, indexSize }: WantedSegment): Promise<boolean> {
  return (await folder.size(path)) === ref.size && (await folder.size(indexPath)) === indexSize;
}

/** Copies a file to where it grows, from where it broke off, and checks it whole. */
async function copyFile(
  parts: CopyParts,
  route: string,
  { digest, size }: { digest: string; size: number },
  signal: AbortSignal,
): Promise<void> {
  const { client, folder } = parts;
  const growing = growingOf(folder, digest);
  const begun = (await folder.size(growing)) ?? 0;
  if (begun > size) await folder.remove(growing);
  if (begun < size || size === 0) {
    const range: Record<string, string> = begun > 0 ? { range: `bytes=${begun}-` } : {};
    await keep(parts, await client.get(route, { digest }, range, signal), { digest, size }, begun);
    return;
  }
  await check(folder, { digest, size });
}

/** What came, behind what is there already where it is the rest of that. @throws SyncFault DigestMismatch */
async function keep(
  parts: CopyParts,
  { status, body }: OperatorAnswer,
  file: { digest: string; size: number },
  begun: number,
): Promise<void> {
  const { folder } = parts;
  const growing = growingOf(folder, file.digest);
  if (status !== 206) await folder.remove(growing);
  await folder.append(growing, arriving(parts, body, status === 206 ? file.size - begun : file.size));
  await check(folder, file);
}

async function check(folder: Folder, { digest, size }: { digest: string; size: number }): Promise<void> {
  const growing = growingOf(folder, digest);
  if ((await folder.size(growing)) !== size || (await digestOfFile(folder.absolute(growing))) !== digest) {
    await folder.remove(growing);
    throw mismatch(`what came for ${digest}`);
  }
}

const growingOf = (folder: Folder, digest: string): string => folder.growing(digest.replace(/^sha256:/, ''));

async function* arriving({ received }: CopyParts, body: Readable, most: number): AsyncGenerator<Buffer> {
  let bytes = 0;
  try {
    for await (const piece of body as AsyncIterable<Buffer>) {
      bytes += piece.length;
      if (bytes > most) throw mismatch('an answer that is longer than what was published');
      received(piece.length);
      yield piece;
    }
  } catch (error) {
    throw error instanceof SyncFault || isStop(error) ? error : brokeOff(error);
  }
}

async function whole(parts: CopyParts, body: Readable, most: number): Promise<Buffer> {
  const pieces: Buffer[] = [];
  for await (const piece of arriving(parts, body, most)) pieces.push(piece);
  return Buffer.concat(pieces);
}

const isStop = (error: unknown): boolean => error instanceof Error && error.name === 'AbortError';
const brokeOff = (cause: unknown): SyncFault =>
  new SyncFault('Unreachable', 'the connection to the operator broke off: what came is kept, and gone on with', {
    cause,
  });
const mismatch = (what: string): SyncFault =>
  new SyncFault('DigestMismatch', `${what} is not what was published: it is thrown away and copied anew`);

function parsed(namespace: string, gateway: string, bytes: Buffer): Index {
  const path = indexPath(namespace, gateway);
  try {
    const index = parseIndex(path, bytes.toString());
    if (index.gateway.namespace === namespace && index.gateway.name === gateway) return index;
  } catch (error) {
    if (!(error instanceof CatalogueUnreadable)) throw error;
    throw new SyncFault(error.reason === 'NewerFormat' ? 'NewerFormat' : 'DigestMismatch', error.message, {
      cause: error,
    });
  }
  throw new SyncFault('DigestMismatch', `what came is another gateway's index.json: give the pod's own namespace`);
}

async function readable<T>(action: () => Promise<T>): Promise<T> {
  try {
    return await action();
  } catch (error) {
    if (!(error instanceof CatalogueUnreadable)) throw error;
    throw new SyncFault(error.reason === 'NewerFormat' ? 'NewerFormat' : 'DigestMismatch', error.message, {
      cause: error,
    });
  }
}

const etagOf = (bytes: Buffer): string => `"${digestOf(bytes)}"`;
