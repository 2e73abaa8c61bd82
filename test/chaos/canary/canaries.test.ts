// A search for secrets finds them in whatever form they stand.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { gzipSync } from 'node:zlib';
import { Canaries } from './canaries.ts';

const secret = 'canary/söme+thing & 7f3c="x"';
const forms: Record<string, string | Buffer> = {
  'as it is': `password=${secret}!`,
  'in capitals': `password=${secret.toUpperCase()}!`,
  'of bytes': Buffer.from(`password=${secret}!`),
  'in a URL': `?password=${encodeURIComponent(secret)}&x`,
  'in a form': new URLSearchParams({ password: secret, x: 'y' }).toString(),
  'in percents': Buffer.from(secret).toString('hex').replace(/../g, '%$&'),
  'in JSON': JSON.stringify({ secret }),
  'in hex': Buffer.from(secret).toString('hex').toUpperCase(),
  'in gzip': gzipSync(secret),
};

for (const [name, text] of Object.entries(forms)) {
  test(`a secret is found ${name}`, () => {
    const canaries = new Canaries();
    canaries.plant('a password', secret);
    assert.match(canaries.found({ where: 'the log', text })[0] ?? 'nothing', /^the log: a password, /);
  });
}

test('a secret is found in base64, whatever stands before and behind it', () => {
  const canaries = new Canaries();
  canaries.plant('a password', secret);
  for (const encoding of ['base64', 'base64url'] as const)
    for (const before of ['', 'u', 'us', 'user:'])
      for (const behind of ['', '.', '..', '...']) {
        const text = Buffer.from(before + secret + behind).toString(encoding);
        assert.equal(canaries.found({ where: 'a header', text }).length, 1, `${before}…${behind}`);
      }
});

test('other words are not taken for a secret, and who has said one may read it', () => {
  const canaries = new Canaries();
  const [one, two] = [canaries.plant('one'), canaries.plant('two')];
  assert.notEqual(one, two);
  assert.equal(canaries.size, 2);
  assert.deepEqual(canaries.found({ where: 'here', text: 'canary, and nothing else' }), []);
  assert.deepEqual(canaries.found({ where: 'here', text: `${one} ${two}`, except: [one] }), ['here: two, as it is']);
});
