// Pages of a bucket's listing, as servers write them and as nobody should.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { newPace } from '../../../upstream/pace.ts';
import { type ListingPage, NoListing, readListing } from '../../../upstream/s3/listing.ts';
import { heldUp } from '../../fixtures/held-up.ts';

const read = (text: string): Promise<ListingPage> => readListing(text, newPace());
const page = (inner: string): string =>
  `<?xml version="1.0" encoding="UTF-8"?>\n<ListBucketResult xmlns="http://s3.amazonaws.com/doc/2006-03-01/">${inner}</ListBucketResult>`;
const row = (key: string, more = ''): string => `<Contents><Key>${key}</Key>${more}</Contents>`;
const keys = async (inner: string): Promise<string[]> => (await read(page(inner))).objects.map(({ key }) => key);
const url = '<EncodingType>url</EncodingType>';

test('key, ETag, size and time are read, and how to go on', async () => {
  const etag = '&quot;5d41402abc4b2a76b9719d911017c592&quot;';
  const more = `<LastModified>2026-01-02T03:04:05.000Z</LastModified><ETag>${etag}</ETag><Size>5</Size><Owner><ID>x</ID></Owner>`;
  const inner = `<Name>b</Name><IsTruncated>true</IsTruncated><NextContinuationToken>1/+=&amp;</NextContinuationToken>`;
  assert.deepEqual(await read(page(`${inner}${row('a.md', more)}`)), {
    objects: [{ key: 'a.md', etag: '5d41402abc4b2a76b9719d911017c592', size: 5, modified: '2026-01-02T03:04:05.000Z' }],
    truncated: true,
    next: '1/+=&',
  });
  assert.deepEqual(await read(page('<IsTruncated>false</IsTruncated>')), {
    objects: [],
    truncated: false,
    next: undefined,
  });
});

test('a page is whole only where it says so, or says nothing of more', async () => {
  const next = '<NextContinuationToken>x</NextContinuationToken>';
  const said = (text: string) => `<IsTruncated>${text}</IsTruncated>`;
  for (const [inner, truncated] of [
    ['', false],
    [said('false'), false],
    [said(' False\n'), false],
    [`${said('false')}${next}`, false],
    [next, true],
    [said('true'), true],
    [`${said(' TRUE ')}${next}`, true],
    [`${said('1')}${next}`, true],
  ] as const) {
    assert.equal((await read(page(inner))).truncated, truncated, inner);
  }
});

test('ETags without quotes are read, weak ones kept as such, empty and endless ones are none', async () => {
  const etags = ['abc', '&#34;abc-2&#34;', 'W/&quot;abc&quot;', '', '&quot;&quot;', 'x'.repeat(300)];
  const { objects } = await read(page(etags.map((etag, at) => row(String(at), `<ETag>${etag}</ETag>`)).join('')));
  assert.deepEqual(
    objects.map(({ etag }) => etag),
    ['abc', 'abc-2', 'W/"abc"', undefined, undefined, undefined],
  );
});

test('keys are decoded where the server says that it has encoded them, wherever it says so', async () => {
  assert.deepEqual(await keys(`${row('a%20b+c%2Bd/gr%C3%B6%C3%9Fe%0A%01.md')}${url}`), ['a b c+d/größe\n\u0001.md']);
  for (const none of ['', '<EncodingType/>', '<EncodingType></EncodingType>']) {
    assert.deepEqual(await keys(`${none}${row('a%20b+c.md')}`), ['a%20b+c.md']);
  }
});

test('entities are what they stand for, also across the slices that are parsed', async () => {
  assert.deepEqual(await keys(row('it&#x27;s &amp;&lt;&#62;&quot;&#39;')), ["it's &<>\"'"]);
  for (let length = 16_180; length < 16_230; length++) {
    const [, key] = await keys(
      `<Contents><Key>${'x'.repeat(4000)}</Key>${'<y></y>'.repeat(1)}${' '.repeat(length - 4000)}</Contents>${row('&#x27;&#128512;')}`,
    );
    assert.equal(key, "'😀");
  }
});

test('blanks at both ends of a key are a part of it', async () => {
  assert.deepEqual(await keys(row(' a ')), [' a ']);
});

test('keys with characters that XML cannot hold are marked, and the others are read', async () => {
  const { objects } = await read(
    page(`${row('a\u0001b')}${row('a&#x1;b')}${row('a&#0;&#xD800;&#x110000;')}${row('a\ufffdb')}${row('ok.md')}`),
  );
  assert.deepEqual(
    objects.map(({ key, garbled }) => [key, garbled]),
    [
      ['a\ufffdb', true],
      ['a\ufffdb', true],
      ['a\ufffd\ufffd\ufffd', true],
      ['a\ufffdb', true],
      ['ok.md', undefined],
    ],
  );
  const encoded = await read(page(`${url}${row('%ff')}${row('%EF%BF%BD')}`));
  assert.deepEqual(
    encoded.objects.map(({ key, garbled }) => [key, garbled]),
    [
      ['\ufffd', true],
      ['\ufffd', undefined],
    ],
  );
});

test('pages that are made to be read for long hold nothing else up', { timeout: 60_000 }, async () => {
  const size = 4 * 2 ** 20;
  const attributes = Array.from({ length: size / 12 }, (_, at) => `a${at}=""`).join(' ');
  for (const text of [page(`<x ${attributes}/>`), page(']]>'.repeat(size / 3)), '<'.repeat(size)]) {
    const longest = await heldUp(() => assert.rejects(read(text), NoListing));
    assert.ok(longest < 100, `${text.slice(0, 120)} ${longest.toFixed(0)} ms`);
  }
});

for (const [what, text, message] of [
  ['a page of a sign-in', '<!DOCTYPE html><html><body>canary</body></html>', /document type/],
  ['HTML without a document type', '<html><body><p>canary</body></html>', /no listing|well-formed/],
  ['nothing', '', /well-formed|no listing/],
  ['JSON', '{"canary": 1}', /well-formed/],
  ['an error with 200', '<Error><Code>InternalError</Code></Error>', /no listing/],
  ['a page that breaks off', page(row('a.md')).slice(0, -30), /well-formed/],
  ['entities of its own', `<!DOCTYPE x [<!ENTITY y "z">]>${page(row('&y;'))}`, /document type/],
  ['an entity that nobody knows', page(row('&canary;')), /well-formed/],
  ['an object without a key', page('<Contents><Size>1</Size></Contents>'), /without a key/],
  ['an endless key', page(row('x'.repeat(5000))), /more than 4096 characters/],
  ['elements without end', page('<x>'.repeat(20)), /too deep/],
  [
    'attributes without end',
    page(`<x ${Array.from({ length: 20 }, (_, at) => `a${at}=""`).join(' ')}/>`),
    /too many attributes/,
  ],
  [
    'a place to go on from that has lost characters',
    page(`<NextContinuationToken>a\u0001</NextContinuationToken>`),
    /goes on behind/,
  ],
] as const) {
  test(`${what} is no listing`, async () => {
    await assert.rejects(
      read(text),
      (error) => error instanceof NoListing && message.test(error.message) && !/canary/.test(error.message),
    );
  });
}
