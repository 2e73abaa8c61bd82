// What a backend keeps between looks, as JSON lines with their digest behind them.
import { digestOf } from '../../catalogue/digest.ts';
import { newPace } from '../../upstream/pace.ts';

/** @param head the format, and what the lines are of */
export async function encodeLines(head: unknown, rows: Iterable<unknown>): Promise<Buffer> {
  const pace = newPace();
  const lines = [JSON.stringify(head)];
  for (const row of rows) {
    lines.push(JSON.stringify(row));
    await pace();
  }
  const body = `${lines.join('\n')}\n`;
  return Buffer.from(`${body}${digestOf(body)}\n`);
}

/**
 * @param take gets one line after the other; false ends it
 * @returns false for what is damaged, has another head, or was not taken
 */
export async function decodeLines(head: unknown, bytes: Buffer, take: (row: unknown) => boolean): Promise<boolean> {
  const end = bytes.lastIndexOf('\n', bytes.length - 2) + 1;
  const body = bytes.subarray(0, end);
  if (bytes.subarray(end).toString() !== `${digestOf(body)}\n`) return false;
  const [first, ...lines] = body.toString().trimEnd().split('\n');
  if (first !== JSON.stringify(head)) return false;
  const pace = newPace();
  for (const line of lines) {
    await pace();
    if (!take(JSON.parse(line))) return false;
  }
  return true;
}
