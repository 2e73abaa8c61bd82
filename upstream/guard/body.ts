// The bytes of an answer, as they come: unpacked, counted against their cap before and after, never gathered.
import { pipeline, Readable } from 'node:stream';
import { createGunzip, createInflate } from 'node:zlib';
import { UpstreamFault } from '../fault.ts';
import { bodyFault } from './faults.ts';

export interface BodyOptions {
  host: string;
  /** The Content-Encoding header. */
  encoding: string | undefined;
  /** The cap on bytes, on the wire and unpacked alike. */
  maxBytes: number;
  signal: AbortSignal;
  /** Told the bytes on the wire. */
  received: (bytes: number) => void;
}

/**
 * @throws UpstreamFault LimitExceeded beyond the cap, TimedOut on silence, UpstreamInvalid on a broken answer; the signal's reason
 */
export async function* readBody(wire: AsyncIterable<Buffer>, options: BodyOptions): AsyncGenerator<Buffer> {
  const { host, signal } = options;
  try {
    const arriving = capped(wire, options, options.received);
    const unpacked = unpack(arriving, options);
    yield* unpacked === arriving ? arriving : capped(unpacked, options, () => {});
  } catch (error) {
    if (signal.aborted) throw signal.reason;
    throw bodyFault(host, error);
  }
}

async function* capped(
  chunks: AsyncIterable<Buffer>,
  { host, maxBytes, signal }: BodyOptions,
  count: (bytes: number) => void,
): AsyncGenerator<Buffer> {
  let total = 0;
  for await (const chunk of chunks) {
    signal.throwIfAborted();
    total += chunk.length;
    count(chunk.length);
    if (total > maxBytes) {
      throw new UpstreamFault(
        'LimitExceeded',
        `${host} sends more than the ${maxBytes} bytes that one answer may have`,
      );
    }
    yield chunk;
  }
}

function unpack(chunks: AsyncIterable<Buffer>, { host, encoding }: BodyOptions): AsyncIterable<Buffer> {
  switch (encoding?.trim().toLowerCase() || 'identity') {
    case 'identity':
      return chunks;
    case 'gzip':
    case 'x-gzip':
      return through(chunks, createGunzip());
    case 'deflate':
      return through(chunks, createInflate());
    default:
      throw new UpstreamFault('UpstreamInvalid', `${host} packs its answer in a way that was not asked for`);
  }
}

async function* through(chunks: AsyncIterable<Buffer>, unpacker: NodeJS.ReadWriteStream): AsyncGenerator<Buffer> {
  const joined = pipeline(Readable.from(chunks), unpacker, () => {});
  for await (const chunk of joined) yield chunk as Buffer;
}
