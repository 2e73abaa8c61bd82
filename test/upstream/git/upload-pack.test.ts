// One answer after the other, cut out of the one stream that git-upload-pack writes.
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { UpstreamFault } from '../../../upstream/fault.ts';
import { UploadPack } from '../../../upstream/git/upload-pack.ts';

/** A program whose output comes in these pieces. */
function program(pieces: readonly Buffer[]): ConstructorParameters<typeof UploadPack>[0] {
  const left = [...pieces];
  return {
    hasEnded: false,
    next: async () => left.shift(),
    write: () => {},
    exitCode: async () => undefined,
    close: () => {},
  };
}

async function textOf(answer: AsyncIterable<Buffer>): Promise<string> {
  let text = '';
  for await (const piece of answer) text += piece.toString('latin1');
  return text;
}

describe('an answer', () => {
  const first = '000eversion 2\n000cls-refs\n0000';
  const second = '000dpackfile\n0009\x010000000100020000';
  const whole = Buffer.from(first + second, 'latin1');

  for (const size of [1, 2, 3, 5, 7, 1000]) {
    test(`ends with its own flush packet, whatever the pieces of ${size} bytes are cut through`, async () => {
      const pieces = Array.from({ length: Math.ceil(whole.length / size) }, (_, index) =>
        whole.subarray(index * size, (index + 1) * size),
      );
      const pack = new UploadPack(program(pieces), 'h');
      assert.equal(await textOf(pack.answer(1000)), first);
      assert.equal(pack.isWaiting, true);
      pack.write(Buffer.from('0000'));
      assert.equal(pack.isWaiting, false);
      assert.equal(await textOf(pack.answer(1000)), second);
    });
  }

  test('that breaks off leaves nothing waiting', async () => {
    const pack = new UploadPack(program([whole.subarray(0, 10)]), 'h');
    assert.equal(await textOf(pack.answer(1000)), first.slice(0, 10));
    assert.equal(pack.isWaiting, false);
  });

  test('that is no packets comes as it is, for its reader to refuse', async () => {
    const pack = new UploadPack(program([Buffer.from('Welcome to h! 0000 0000')]), 'h');
    assert.equal(await textOf(pack.answer(1000)), 'Welcome to h! 0000 0000');
  });

  test('of more bytes than it may have is LimitExceeded', async () => {
    const pack = new UploadPack(program([whole]), 'h');
    await assert.rejects(
      textOf(pack.answer(10)),
      (error) => error instanceof UpstreamFault && error.reason === 'LimitExceeded',
    );
  });
});
