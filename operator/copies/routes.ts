// What copies of a catalogue are made from, over the operator's port for callers. Whichever operator has the volume answers.
import { createReadStream } from 'node:fs';
import { open } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { cataloguePath } from '../../catalogue/layout.ts';
import type { CopyCall, CopyRoute, FileAnswer } from '../callers/listener.ts';
import { Deltas } from './deltas.ts';
import { type FileKind, fileKey, Published, type PublishedGateway } from './published.ts';
import { rangeStart } from './ranges.ts';

export interface CopyRoutesOptions {
  /** Absolute path of the volume. */
  volume: string;
  /** Whether all objects have been listed: what is not known before is not yet known to be absent. */
  synced(): boolean;
}

/** How often it is looked whether there is something new, while a call waits for it. */
const lookEveryMilliseconds = 500;
/** A call waits no longer than this, whatever it asks for. */
const longestWaitSeconds = 25;

export function copyRoutes({ volume, synced }: CopyRoutesOptions): Record<string, CopyRoute> {
  const published = new Published(volume);
  const deltas = new Deltas();

  /** What tokens are known by is for the servers of a gateway alone. */
  const current = async ({ gateway, own }: CopyCall): Promise<PublishedGateway | undefined> => {
    const [namespace, name] = gateway.split('/') as [string, string];
    const found = await published.gateway(namespace, name);
    return found?.hasTokens && !own ? undefined : found;
  };

  const index: CopyRoute = async (call) => {
    if (!synced()) return notReady;
    const before = call.header('if-none-match');
    const began = performance.now();
    const until = began + 1000 * waitOf(call.header('prefer'));
    for (;;) {
      const found = await current(call);
      if (found !== undefined && found.etag !== before) {
        if (performance.now() - began > lookEveryMilliseconds && !(await call.mayStill())) return notPublished;
        return { status: 200, headers: { ...json, ETag: found.etag }, content: found.index };
      }
      if (call.signal.aborted || performance.now() >= until) {
        return found === undefined ? notPublished : { status: 304, headers: { ETag: found.etag } };
      }
      await pause(lookEveryMilliseconds, undefined, { signal: call.signal }).catch(() => {});
    }
  };

  const file =
    (kind: FileKind): CopyRoute =>
    async (call) => {
      const digest = call.query.get('digest') ?? '';
      const path = (await current(call))?.files.get(fileKey(kind, digest));
      if (path === undefined) return notPublished;
      if (kind === 'catalogue') {
        const base = baseOf(call.query.get('base'), path);
        const delta = base && (await deltas.between(join(volume, base), join(volume, path)));
        if (delta)
          return { status: 200, headers: { 'Content-Type': 'application/vnd.lyceum.line-delta' }, content: delta };
      }
      return await answerFile(join(volume, path), call.header('range'));
    };

  return {
    'GET /catalogue/index.json': index,
    'GET /catalogue/source': file('catalogue'),
    'GET /catalogue/segment': file('segment'),
    'GET /catalogue/segment-index': file('segment-index'),
  };
}

const json = { 'Content-Type': 'application/json' };
const notPublished = { status: 404, body: { error: 'NotFound' } };
const notReady = { status: 503, body: { error: 'NotReady' } };

/** `wait=20` of the header Prefer (RFC 7240). */
const waitOf = (prefer: string | undefined): number =>
  Math.min(longestWaitSeconds, Number(/^wait=(\d{1,4})$/.exec(prefer ?? '')?.[1] ?? 0));

/** Another catalogue of the same source: who names it by its digest has it. */
function baseOf(digest: string | null, path: string): string | undefined {
  if (digest === null || !/^sha256:[0-9a-f]{64}$/.test(digest)) return undefined;
  const [, namespace, name] = path.split('/') as [string, string, string];
  return cataloguePath(namespace, name, digest);
}

async function answerFile(path: string, range: string | undefined): Promise<FileAnswer> {
  const handle = await open(path, 'r');
  const { size } = await handle.stat().catch(async (error: unknown) => {
    await handle.close();
    throw error;
  });
  const start = rangeStart(range, size);
  if (start === 'unsatisfiable') {
    await handle.close();
    return { status: 416, headers: { 'Content-Range': `bytes */${size}` } };
  }
  const content = createReadStream(path, { fd: handle, start: start ?? 0 });
  const headers = {
    'Content-Type': 'application/octet-stream',
    'Accept-Ranges': 'bytes',
    'Content-Length': String(size - (start ?? 0)),
  };
  if (start === undefined) return { status: 200, headers, content };
  return { status: 206, headers: { ...headers, 'Content-Range': `bytes ${start}-${size - 1}/${size}` }, content };
}
