// Reads a file of JSON lines in slices, so that a long one never holds up what else the program is doing.
import { createHash } from 'node:crypto';
import { open } from 'node:fs/promises';

/** Read at once, in bytes. Parsing so much takes a few milliseconds; the event loop turns before the next read is done. */
const chunkBytes = 64 * 1024;
const firstLineBytes = 16 * 1024;
const newline = 0x0a;

/** A line that is longer than a reader is ready to hold. */
export class LineTooLong extends Error {}

/**
 * Hands every line of a file, without its newline, to `take`, in order. The bytes are valid only during the call.
 * @param path absolute
 * @param longestLine in bytes
 * @returns bytes read and their digest, `sha256:<hex>`
 * @throws LineTooLong, whatever `take` throws, and whatever opening and reading throw
 */
export async function readLines(
  path: string,
  longestLine: number,
  take: (line: Buffer) => void,
): Promise<{ size: number; digest: string }> {
  const handle = await open(path, 'r');
  try {
    const hash = createHash('sha256');
    const chunk = Buffer.allocUnsafe(chunkBytes);
    let rest: Buffer[] = [];
    let restBytes = 0;
    let size = 0;
    for (;;) {
      const { bytesRead } = await handle.read(chunk, 0, chunkBytes, size);
      if (bytesRead === 0) break;
      size += bytesRead;
      const bytes = chunk.subarray(0, bytesRead);
      hash.update(bytes);
      let from = 0;
      for (let end = bytes.indexOf(newline); end !== -1; end = bytes.indexOf(newline, from)) {
        const line = bytes.subarray(from, end);
        take(restBytes === 0 ? line : Buffer.concat([...rest, line]));
        rest = [];
        restBytes = 0;
        from = end + 1;
      }
      if (from < bytesRead) {
        restBytes += bytesRead - from;
        if (restBytes > longestLine) throw new LineTooLong(`a line is longer than ${longestLine} bytes`);
        rest.push(Buffer.from(bytes.subarray(from)));
      }
    }
    if (restBytes > 0) take(Buffer.concat(rest));
    return { size, digest: `sha256:${hash.digest('hex')}` };
  } finally {
    await handle.close();
  }
}

/**
 * The first line of a file, without its newline.
 * @param path absolute
 * @param longestLine in bytes
 * @throws LineTooLong, and whatever opening and reading throw
 */
export async function readFirstLine(path: string, longestLine: number): Promise<Buffer> {
  const handle = await open(path, 'r');
  try {
    const pieces: Buffer[] = [];
    for (let size = 0; size <= longestLine; ) {
      const { buffer, bytesRead } = await handle.read(Buffer.allocUnsafe(firstLineBytes), 0, firstLineBytes, size);
      const bytes = buffer.subarray(0, bytesRead);
      const end = bytes.indexOf(newline);
      pieces.push(end === -1 ? bytes : bytes.subarray(0, end));
      if (end !== -1 || bytesRead === 0) return Buffer.concat(pieces);
      size += bytesRead;
    }
    throw new LineTooLong(`a line is longer than ${longestLine} bytes`);
  } finally {
    await handle.close();
  }
}
