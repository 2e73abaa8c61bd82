// The answer to a fetch (gitprotocol-v2): sections, then the pack in side-band packets.
import { UpstreamFault } from '../fault.ts';
import type { ByteStream } from './byte-stream.ts';
import { type Packet, packetText, readPacket } from './pkt-line.ts';

/**
 * The bytes of the pack.
 * @param absent the fault of a server that says it has no such object
 * @throws UpstreamFault UpstreamInvalid on any other error packet, and where the answer holds no pack or stops before its end
 */
export async function* packOf(stream: ByteStream, name: string, absent: () => UpstreamFault): AsyncGenerator<Buffer> {
  for (let line = ''; line !== 'packfile'; ) {
    const packet = await readPacket(stream, name);
    if (packet === undefined || packet === 'flush' || packet === 'response-end') throw withoutPack(name);
    if (packet !== 'delimiter') line = fetchLine(packet, name, absent);
  }
  yield* sideBand(stream, name, await readPacket(stream, name));
}

/** Lines before a pack that version 0 may send: one for each commit at the depth that was asked for, and the answer to it. */
const mostLines = 100;

/**
 * The same of version 0, which puts no section before the pack.
 * @param lines is given what came before the pack, a flush packet as the empty line
 */
export async function* packOfVersionZero(
  stream: ByteStream,
  name: string,
  absent: () => UpstreamFault,
  lines: string[],
): AsyncGenerator<Buffer> {
  for (;;) {
    const packet = await readPacket(stream, name);
    if (packet === undefined || lines.length === mostLines) throw withoutPack(name);
    if (Buffer.isBuffer(packet) && packet.length > 0 && packet[0]! < bands)
      return yield* sideBand(stream, name, packet);
    lines.push(Buffer.isBuffer(packet) ? fetchLine(packet, name, absent) : '');
  }
}

/** Numbers of side bands are below; a line begins with a letter. */
const bands = 0x20;

/** What comes on side-band 1, to the flush packet. */
async function* sideBand(stream: ByteStream, name: string, first: Packet | undefined): AsyncGenerator<Buffer> {
  for (let packet = first; ; packet = await readPacket(stream, name)) {
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

function fetchLine(packet: Buffer, name: string, absent: () => UpstreamFault): string {
  const line = packetText(packet);
  if (line.startsWith('ERR ')) throw noSuchObject.test(line) ? absent() : refused(name);
  return line;
}

const withoutPack = (name: string): UpstreamFault =>
  new UpstreamFault('UpstreamInvalid', `${name} answered a fetch without a pack`);

/** Git's own words for an object that it does not have or does not give (upload-pack.c), and JGit's. */
const noSuchObject = /not our ref|is not valid|not found/i;

/** The fault of an error packet, whose text stays unquoted. */
export const refused = (name: string): UpstreamFault =>
  new UpstreamFault('UpstreamInvalid', `${name} refused a git request; its own log says why`);
