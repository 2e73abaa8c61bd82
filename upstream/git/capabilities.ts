// What a git server says of itself at info/refs, and whether the partial-clone reader can speak with it.
import { UpstreamFault } from '../fault.ts';
import type { ByteStream } from './byte-stream.ts';
import { packetText, readPacket } from './pkt-line.ts';

/**
 * Reads the answer to GET info/refs and accepts a server of protocol v2 with partial clone and SHA-1 objects. This is the
 * one place that decides how a server is read.
 * @throws UpstreamFault UpstreamInvalid with what the server lacks
 */
export async function acceptServer(stream: ByteStream, contentType: string | undefined, name: string): Promise<void> {
  if (contentType !== 'application/x-git-upload-pack-advertisement') {
    throw new UpstreamFault(
      'UpstreamInvalid',
      `${name} does not answer as a git server (smart HTTP) at this address; check spec.url`,
    );
  }
  const lines = await readAdvertisement(stream, name);
  if (!lines.includes('version 2')) {
    throw new UpstreamFault('UpstreamInvalid', `${name} does not speak git's protocol version 2, which Lyceum needs`);
  }
  const capabilities = new Map(
    lines.map((line): [string, string] => {
      const at = line.indexOf('=');
      return at < 0 ? [line, ''] : [line.slice(0, at), line.slice(at + 1)];
    }),
  );
  if ((capabilities.get('object-format') ?? 'sha1') !== 'sha1') {
    throw new UpstreamFault(
      'UpstreamInvalid',
      `${name} keeps this repository with SHA-256 object names, which Lyceum does not read; name a SHA-1 repository`,
    );
  }
  const features = (capabilities.get('fetch') ?? '').split(' ');
  if (!features.includes('filter') || !features.includes('shallow')) {
    throw new UpstreamFault(
      'UpstreamInvalid',
      `${name} does not offer partial clone, which Lyceum needs; on a server of your own set uploadpack.allowFilter`,
    );
  }
}

/** The lines of the advertisement, with or without the service announcement that HTTP servers may put before it. */
async function readAdvertisement(stream: ByteStream, name: string): Promise<string[]> {
  const lines: string[] = [];
  for (;;) {
    const packet = await readPacket(stream, name);
    if (packet === undefined) break;
    if (packet === 'flush') {
      if (lines.length === 1 && lines[0] === '# service=git-upload-pack') {
        lines.length = 0;
        continue;
      }
      break;
    }
    if (typeof packet === 'string') continue;
    lines.push(packetText(packet));
    if (lines[0] !== '# service=git-upload-pack' && !lines.includes('version 2')) break;
  }
  return lines;
}
