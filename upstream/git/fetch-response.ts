// The answer to a fetch (gitprotocol-v2): sections, then the pack in side-band packets.
import { UpstreamFault } from '../fault.ts';
import type { ByteStream } from './byte-stream.ts';
import { packetText, readPacket } from './pkt-line.ts';

/**
 * The bytes of the pack.
 * @param absent the fault of a server that says it has no such object
 * @throws UpstreamFault UpstreamInvalid on any other error packet, and where the answer holds no pack or stops before its end
 */
export async function* packOf(stream: ByteStream, name: string, absent: () => UpstreamFault): AsyncGenerator<Buffer> {
  await skipToPack(stream, name, absent);
  for (;;) {
    const packet = await readPacket(stream, name);
    if (packet === 'flush') return void (await stream.fill(1));
    if (packet === undefined) throw new UpstreamFault('UpstreamInvalid', `${name} broke off in the middle of a pack`);
    if (typeof packet === 'string' || isKeepAlive(packet)) continue;
    if (packet[0] === 1) yield packet.subarray(1);
    else if (packet[0] !== 2) {
      throw new UpstreamFault('UpstreamInvalid', `${name} gave up in the middle of a pack; its own log says why`);
    }
  }
}

/** Sent by git's server while it is still counting; any number of them carries nothing. */
const isKeepAlive = (packet: Buffer): boolean => packet.length === 1 && packet[0] === 1;

async function skipToPack(stream: ByteStream, name: string, absent: () => UpstreamFault): Promise<void> {
  for (;;) {
    const packet = await readPacket(stream, name);
    if (packet === undefined || packet === 'flush' || packet === 'response-end') {
      throw new UpstreamFault('UpstreamInvalid', `${name} answered a fetch without a pack`);
    }
    if (packet === 'delimiter') continue;
    const line = packetText(packet);
    if (line === 'packfile') return;
    if (line.startsWith('ERR ')) throw noSuchObject.test(line) ? absent() : refused(name);
  }
}

/** Git's own words for an object that it does not have or does not give (upload-pack.c), and JGit's. */
const noSuchObject = /not our ref|is not valid|not found/i;

/** The fault of an error packet, whose text stays unquoted. */
export const refused = (name: string): UpstreamFault =>
  new UpstreamFault('UpstreamInvalid', `${name} refused a git request; its own log says why`);
