// Git's pkt-line framing (gitprotocol-common): four hex digits of length, then the payload.
import { UpstreamFault } from '../fault.ts';
import type { ByteStream } from './byte-stream.ts';

/** A payload, or one of the packets that have none. */
export type Packet = Buffer | 'flush' | 'delimiter' | 'response-end';

const longestPacket = 65_520;
const special = ['flush', 'delimiter', 'response-end'] as const;

export const flush = '0000';
export const delimiter = '0001';

/** One line as a packet; the line end is added. */
export function packetLine(text: string): string {
  const line = `${text}\n`;
  return (Buffer.byteLength(line) + 4).toString(16).padStart(4, '0') + line;
}

/**
 * The next packet; undefined where the stream ends between two.
 * @param name what messages call the server
 * @throws UpstreamFault UpstreamInvalid on what is no packet or stops within one
 */
export async function readPacket(stream: ByteStream, name: string): Promise<Packet | undefined> {
  if (stream.held.length < 4) await stream.fill(4);
  if (stream.held.length === 0) return undefined;
  const digits = stream.take(4).toString('latin1');
  if (!/^[0-9a-f]{4}$/i.test(digits)) {
    throw new UpstreamFault('UpstreamInvalid', `${name} answered in a way that is no git protocol`);
  }
  const length = Number.parseInt(digits, 16);
  const kind = special[length];
  if (kind !== undefined) return kind;
  if (length < 4 || length > longestPacket) {
    throw new UpstreamFault('UpstreamInvalid', `${name} sent a git packet of an impossible length`);
  }
  const payload = length - 4;
  if (stream.held.length < payload) await stream.fill(payload);
  if (stream.held.length < payload) {
    throw new UpstreamFault('UpstreamInvalid', `${name} broke off in the middle of a git packet`);
  }
  return stream.take(payload);
}

/** A packet's text without its line end. */
export function packetText(packet: Buffer): string {
  const text = packet.toString('utf8');
  return text.endsWith('\n') ? text.slice(0, -1) : text;
}
