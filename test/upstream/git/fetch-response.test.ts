// The answer to a fetch: what of it is the pack.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { UpstreamFault } from '../../../upstream/fault.ts';
import { ByteStream } from '../../../upstream/git/byte-stream.ts';
import { packOf } from '../../../upstream/git/fetch-response.ts';

const packets = (...payloads: string[]): string =>
  payloads.map((payload) => (payload.length + 4).toString(16).padStart(4, '0') + payload).join('');

async function pieces(answer: string): Promise<string[]> {
  async function* sent() {
    yield Buffer.from(answer, 'latin1');
  }
  const absent = () => new UpstreamFault('NotFound', 'no such commit');
  const found: string[] = [];
  for await (const piece of packOf(new ByteStream(sent()), 'git.example.org', absent)) found.push(piece.toString());
  return found;
}

test('the pack is what comes on side-band 1; progress and packets that keep a connection alive are nothing', async () => {
  const alive = '\x01';
  const answer = packets('packfile\n', '\x02Counting objects', '\x01PA', ...Array(1000).fill(alive), '\x01CK');
  assert.deepEqual(await pieces(`${answer}0000`), ['PA', 'CK']);
});

test('a server that gives up in the middle is UpstreamInvalid, and what it says is not repeated', async () => {
  for (const last of ['\x03out of memory', '', '\x04']) {
    const answer = packets('packfile\n', '\x01PA', last);
    await assert.rejects(pieces(`${answer}0000`), (error: unknown) => {
      assert.ok(error instanceof UpstreamFault);
      assert.equal(error.reason, 'UpstreamInvalid');
      assert.doesNotMatch(error.message, /out of memory/);
      return true;
    });
  }
});
