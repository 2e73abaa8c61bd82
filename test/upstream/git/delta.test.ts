// Deltas of git packs, good and damaged.
import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { describe, test } from 'node:test';
import { applyDelta, applyDeltaInPieces, DeltaDamaged, deltaHeader, pieceSize } from '../../../upstream/git/delta.ts';
import { newPace } from '../../../upstream/pace.ts';

const base = Buffer.from('0123456789abcdef');

type Apply = (base: Buffer, delta: Buffer) => Promise<Buffer>;

const ways: Record<string, Apply> = {
  'held whole': (from, delta) => applyDelta(from, delta, deltaHeader(delta), newPace()),
  'in pieces': async (from, delta) => {
    const read = async (start: number, length: number) => {
      assert.ok(length <= pieceSize);
      return from.subarray(start, start + length);
    };
    const large = { type: 'blob', size: from.length, read } as const;
    const pieces: Buffer[] = [];
    for await (const piece of applyDeltaInPieces(large, delta, deltaHeader(delta), newPace())) {
      assert.ok(piece.length <= pieceSize);
      pieces.push(piece);
    }
    return Buffer.concat(pieces);
  },
};

for (const [way, applied] of Object.entries(ways)) {
  describe(way, () => {
    const apply = async (bytes: number[]) => (await applied(base, Buffer.from(bytes))).toString();

    test('copies and insertions follow one another', async () => {
      assert.equal(await apply([16, 9, 0x91, 10, 3, 2, 0x2d, 0x2d, 0x90, 4]), 'abc--0123');
    });

    test('a copy without a size copies 64 KiB', async () => {
      const large = Buffer.alloc(0x10000, 'x');
      const delta = Buffer.from([0x80, 0x80, 0x04, 0x80, 0x80, 0x04, 0x80]);
      assert.deepEqual(await applied(large, delta), large);
    });

    test('what is larger than a piece comes whole', async () => {
      const large = randomBytes(pieceSize * 2 + 5);
      const size = [0x85, 0x80, 0x20];
      const copy = (at: number, length: number) => [
        0xff,
        ...[at, at >> 8, at >> 16, 0].map((byte) => byte & 255),
        ...[length, length >> 8, length >> 16].map((byte) => byte & 255),
      ];
      const delta = Buffer.from([
        ...size,
        ...size,
        ...copy(large.length - 300_000, 300_000),
        ...copy(0, large.length - 300_000),
      ]);
      assert.deepEqual(
        await applied(large, delta),
        Buffer.concat([large.subarray(-300_000), large.subarray(0, -300_000)]),
      );
    });

    for (const [what, bytes] of [
      ['copies from outside its base', [16, 3, 0x91, 14, 3]],
      ['gives more than it states', [16, 2, 0x90, 3]],
      ['gives less than it states', [16, 4, 0x90, 3]],
      ['is for a base of another size', [15, 3, 0x90, 3]],
      ['ends within a copy', [16, 3, 0x91, 1]],
      ['ends within an insertion', [16, 3, 3, 0x2d]],
      ['has the reserved instruction', [16, 1, 0]],
      ['ends within its sizes', [0x80, 0x80]],
      ['states a size without end', Array(20).fill(0x80)],
      ['is empty', []],
    ] as const) {
      test(`a delta that ${what} is damaged`, async () => {
        await assert.rejects(apply([...bytes]), DeltaDamaged);
      });
    }
  });
}
