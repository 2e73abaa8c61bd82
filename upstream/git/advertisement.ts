// What a git server says of itself at info/refs, and by which reader it is read.
import { UpstreamFault } from '../fault.ts';
import type { Pace } from '../pace.ts';
import type { ByteStream } from './byte-stream.ts';
import { refused } from './fetch-response.ts';
import { packetText, readPacket } from './pkt-line.ts';
import type { GitReader } from './repository.ts';

export interface Advertisement {
  /** Of git's protocol. Version 1 is 0 with one more line, which is left out. */
  version: 0 | 2;
  capabilities: ReadonlyMap<string, string>;
  /**
   * Of version 0, `OID NAME`: the first line with the capabilities behind it, then the references that were asked for and
   * what their tags name (`NAME^{}`). None for a repository without references.
   */
  lines: readonly string[];
}

/** Bytes of a version 2 server's capabilities. */
const mostCapabilities = 2 ** 20;

/**
 * The answer to GET info/refs, to its end. Of a version 0 server's references only those asked for are kept.
 * @param name what messages call the server
 * @param wanted full names of references
 * @throws UpstreamFault UpstreamInvalid for what is no advertisement or stops within it, LimitExceeded
 */
export async function readAdvertisement(
  stream: ByteStream,
  name: string,
  wanted: ReadonlySet<string>,
  pace: Pace,
): Promise<Advertisement> {
  const first = await firstLine(stream, name, pace);
  if (first === undefined) return { version: 0, capabilities: new Map(), lines: [] };
  if (first.startsWith('ERR ')) throw refused(name);
  if (first === 'version 2') return versionTwo(stream, name, pace);
  const [, reference, capabilities] = /^([0-9a-f]{40,64} [^ \0]+)\0(.*)$/.exec(first) ?? [];
  if (reference === undefined || capabilities === undefined) {
    throw new UpstreamFault('UpstreamInvalid', `${name} advertises its references in a way that is no git protocol`);
  }
  const lines = [first];
  const most = 1 + 2 * wanted.size;
  for await (const line of linesToFlush(stream, name, pace)) {
    const [, referenceName] = /^[0-9a-f]{40} (.+?)(?:\^\{\})?$/.exec(line) ?? [];
    if (referenceName !== undefined && wanted.has(referenceName) && lines.length < most) lines.push(line);
  }
  return { version: 0, capabilities: byName(capabilities.split(' ')), lines };
}

/**
 * The one place that decides how a server is read.
 * @throws UpstreamFault UpstreamInvalid with what the server lacks for either reader
 */
export function readerFor({ version, capabilities, lines }: Advertisement, name: string): GitReader {
  if ((capabilities.get('object-format') ?? 'sha1') !== 'sha1') {
    throw new UpstreamFault(
      'UpstreamInvalid',
      `${name} keeps this repository with SHA-256 object names, which Lyceum does not read; name a SHA-1 repository`,
    );
  }
  if (version === 2) {
    const features = (capabilities.get('fetch') ?? '').split(' ');
    return features.includes('filter') && features.includes('shallow') ? 'partial-clone' : 'isomorphic-git';
  }
  const missing = lines.length === 0 ? [] : ['shallow', 'side-band-64k'].filter((needed) => !capabilities.has(needed));
  if (missing.length === 0) return 'isomorphic-git';
  throw new UpstreamFault(
    'UpstreamInvalid',
    `${name} offers neither partial clone (git's protocol version 2 with filter) nor ${missing.join(' and ')}; serve the repository with a newer git`,
  );
}

/** The line behind the service announcement, which HTTP alone has and may leave out; undefined where no reference follows. */
async function firstLine(stream: ByteStream, name: string, pace: Pace): Promise<string | undefined> {
  for (let hasBegun = false; ; ) {
    await pace();
    const packet = await readPacket(stream, name);
    if (packet === undefined) {
      if (hasBegun) return undefined;
      throw new UpstreamFault('UpstreamInvalid', `${name} answers with nothing where a git server advertises itself`);
    }
    hasBegun = true;
    if (typeof packet === 'string') continue;
    const line = packetText(packet);
    if (line === '# service=git-upload-pack') continue;
    if (line !== 'version 1') return line;
  }
}

async function versionTwo(stream: ByteStream, name: string, pace: Pace): Promise<Advertisement> {
  const lines: string[] = [];
  let bytes = 0;
  for await (const line of linesToFlush(stream, name, pace)) {
    bytes += line.length + 5;
    if (bytes > mostCapabilities) {
      throw new UpstreamFault('LimitExceeded', `${name} sends more than ${mostCapabilities} bytes of capabilities`);
    }
    lines.push(line);
  }
  return { version: 2, capabilities: byName(lines), lines: [] };
}

/** @throws UpstreamFault UpstreamInvalid where the stream ends before a flush packet, and on an error packet */
export async function* linesToFlush(stream: ByteStream, name: string, pace: Pace): AsyncGenerator<string> {
  for (;;) {
    await pace();
    const packet = await readPacket(stream, name);
    if (packet === 'flush') return;
    if (packet === undefined) {
      throw new UpstreamFault('UpstreamInvalid', `${name} broke off in the middle of its references`);
    }
    if (typeof packet === 'string') continue;
    const line = packetText(packet);
    if (line.startsWith('ERR ')) throw refused(name);
    yield line;
  }
}

const byName = (lines: readonly string[]): Map<string, string> =>
  new Map(
    lines.map((line): [string, string] => {
      const at = line.indexOf('=');
      return at < 0 ? [line, ''] : [line.slice(0, at), line.slice(at + 1)];
    }),
  );
