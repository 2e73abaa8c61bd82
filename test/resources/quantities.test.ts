// Durations and quantities, read from what specs write.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { parseDuration, parseQuantity } from '../../operator/resources/quantities.ts';

test('a duration is read in seconds', () => {
  const durations = { '5s': 5, '90s': 90, '5m': 300, '1h': 3600, '1h30m': 5400, '1h1m1s': 3661, '8760h': 31_536_000 };
  for (const [text, seconds] of Object.entries(durations)) assert.equal(parseDuration(text), seconds, text);
});

test('what is no duration is refused', () => {
  for (const text of ['', '5', 'm', '5d', '-5m', '0s', '05m', '1.5m', '5 m', '5m ', '5ms', '5m\n', '1h-1m']) {
    assert.throws(() => parseDuration(text), RangeError, JSON.stringify(text));
  }
});

test('a quantity is read in bytes', () => {
  const quantities = {
    '1': 1,
    '65536': 65_536,
    '4k': 4000,
    '1M': 1_000_000,
    '2G': 2_000_000_000,
    '512Ki': 524_288,
    '4Mi': 4_194_304,
    '1Gi': 1_073_741_824,
  };
  for (const [text, bytes] of Object.entries(quantities)) assert.equal(parseQuantity(text), bytes, text);
});

test('what is no quantity is refused', () => {
  for (const text of ['', '0', '-1', '1.5Gi', '4MB', '4 Mi', 'Mi', '1e3', '4mi', '4Mi\n', '1Ti']) {
    assert.throws(() => parseQuantity(text), RangeError, JSON.stringify(text));
  }
});
