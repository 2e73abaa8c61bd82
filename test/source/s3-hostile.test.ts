// Buckets whose servers lie, stall, redirect or answer like a proxy: what no real server does on demand. A fake, for that alone.
import assert from 'node:assert/strict';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { Readable } from 'node:stream';
import { type TestContext, test } from 'node:test';
import { heldUp } from '../fixtures/held-up.ts';
import { fault, serve } from '../fixtures/http.ts';
import { lookS3, probeS3, type S3LookOptions } from '../fixtures/s3-look.ts';

const secret = { accessKeyId: 'canary-akid', secretAccessKey: 'canary-secret', sessionToken: 'canary-token' };

type Answer = (request: IncomingMessage, response: ServerResponse) => void;
interface Listed {
  key: string;
  etag?: string;
  size?: number;
}

const row = ({ key, etag = '"e"', size = 1 }: Listed): string =>
  `<Contents><Key>${key}</Key><ETag>${etag.replaceAll('"', '&quot;')}</ETag><Size>${size}</Size></Contents>`;
const listing = (rows: readonly Listed[], more = ''): string =>
  `<ListBucketResult><IsTruncated>${more !== ''}</IsTruncated>${more}${rows.map(row).join('')}</ListBucketResult>`;
const nextToken = (token: string): string => `<NextContinuationToken>${token}</NextContinuationToken>`;
const queryOf = ({ url }: IncomingMessage): URLSearchParams => new URL(url!, 'http://x').searchParams;
const failing =
  (status: number, code: string, headers: Record<string, string> = {}, more = ''): Answer =>
  (_request, response) =>
    void response
      .writeHead(status, headers)
      .end(`<?xml version="1.0"?>\n<Error><Code>${code}</Code><Message>canary</Message>${more}</Error>`);

/** A bucket with these objects, each of one byte, whose reads are answered so. */
const bucket =
  (objects: readonly Listed[], read: Answer = (_request, response) => void response.end('x')): Answer =>
  (request, response) =>
    request.url!.includes('list-type=2') ? void response.end(listing(objects)) : read(request, response);

const url = async (t: TestContext, answer: Answer): Promise<string> => `s3+${await serve(t, answer)}/bucket/packs`;
const look = async (t: TestContext, answer: Answer, options: S3LookOptions = {}) =>
  lookS3(await url(t, answer), { secret, ...options });

const errors: [what: string, answer: Answer, reason: string, message: RegExp][] = [
  [
    'a bucket in another region, with the region in a header',
    failing(301, 'PermanentRedirect', { 'x-amz-bucket-region': 'eu-central-1' }),
    'NotFound',
    /the bucket "bucket" is not in the region us-east-1: write spec\.region: eu-central-1$/,
  ],
  [
    'a bucket elsewhere, without a word where',
    failing(301, 'PermanentRedirect'),
    'NotFound',
    /write its own region in spec\.region$/,
  ],
  [
    'a bucket of that region, asked for at another server',
    failing(301, 'PermanentRedirect', { 'x-amz-bucket-region': 'us-east-1' }),
    'NotFound',
    /does not keep the bucket "bucket" of the region us-east-1: write that region's own server in spec\.url/,
  ],
  [
    'a signature that is refused in the right region',
    failing(400, 'AuthorizationHeaderMalformed', {}, '<Region>us-east-1</Region>'),
    'AuthenticationFailed',
    /does not take the form of the signature; check spec\.region/,
  ],
  [
    'a redirect to where the bucket is',
    failing(307, 'TemporaryRedirect', { 'x-amz-bucket-region': 'us-west-2', location: 'https://canary.example.com/' }),
    'NotFound',
    /write spec\.region: us-west-2$/,
  ],
  [
    'a region that is no name of one',
    failing(400, 'AuthorizationHeaderMalformed', {}, '<Region>canary here</Region>'),
    'AuthenticationFailed',
    /check spec\.region/,
  ],
  [
    'a region that is in the answer',
    failing(400, 'AuthorizationHeaderMalformed', {}, '<Region>eu-west-3</Region>'),
    'AuthenticationFailed',
    /write spec\.region: eu-west-3$/,
  ],
  [
    'a session that is over',
    failing(400, 'ExpiredToken'),
    'AuthenticationFailed',
    /does not take the sessionToken any longer/,
  ],
  ['a session that never was', failing(400, 'InvalidToken'), 'AuthenticationFailed', /does not take the sessionToken:/],
  [
    'a clock that is off, from a server that does not tell the time',
    (request, response) => {
      response.sendDate = false;
      failing(403, 'RequestTimeTooSkewed')(request, response);
    },
    'AuthenticationFailed',
    /clock of the operator's machine is off/,
  ],
  [
    'no right to list',
    failing(403, 'AccessDenied'),
    'AccessDenied',
    /refuses to show the bucket "bucket"; let the keys of spec\.secretRef list/,
  ],
  ['a 403 without a word', (_request, response) => void response.writeHead(403).end(), 'AccessDenied', /HTTP 403/],
  ['too many requests', failing(503, 'SlowDown'), 'RateLimited', /asks to slow down \(HTTP 503\)/],
  ['an error of the server', failing(500, 'InternalError'), 'UpstreamInvalid', /HTTP 500/],
  [
    'a sign-in page',
    (_request, response) => void response.setHeader('content-type', 'text/html').end('<!DOCTYPE html><p>canary'),
    'UpstreamInvalid',
    /cannot be read as a listing: .*sign-in page/,
  ],
  [
    'a page of a proxy with 404',
    (_request, response) => void response.writeHead(404).end('<html><Code>AccessDenied</Code>canary'),
    'NotFound',
    /HTTP 404/,
  ],
  [
    'a redirect to another server',
    (_request, response) => void response.writeHead(308, { location: 'http://canary.example.com/' }).end(),
    'UpstreamInvalid',
    /redirects to another server, .*write that one's address in spec\.url/,
  ],
  [
    'a listing that breaks off',
    (_request, response) => void response.end(listing([{ key: 'packs/a.md' }]).slice(0, -20)),
    'UpstreamInvalid',
    /cannot be read as a listing/,
  ],
  [
    'a server that knows the older listing alone',
    (_request, response) => void response.end(listing([{ key: 'packs/a.md' }], '<NextMarker>packs/a.md</NextMarker>')),
    'UpstreamInvalid',
    /must know ListObjectsV2/,
  ],
  [
    'a listing of something else',
    (_request, response) => void response.end(listing([{ key: 'canary/a.md' }])),
    'UpstreamInvalid',
    /lists an object twice, or one that was not asked for/,
  ],
  [
    'a listing with more to come and no way to it',
    (_request, response) =>
      void response.end('<ListBucketResult><IsTruncated> True\n</IsTruncated></ListBucketResult>'),
    'UpstreamInvalid',
    /breaks its listing off/,
  ],
  [
    'a key that no object can have',
    (_request, response) => void response.end(listing([{ key: `packs/${'é'.repeat(600)}` }])),
    'UpstreamInvalid',
    /lists a key of more than 1024 bytes/,
  ],
  [
    'a listing that is too long',
    (_request, response) => void response.end(`<ListBucketResult>${' '.repeat(5 * 2 ** 20)}`),
    'LimitExceeded',
    /4194304 bytes/,
  ],
];

for (const [what, answer, reason, message] of errors) {
  test(`${what} is ${reason}`, async (t) => {
    await assert.rejects(probeS3(await url(t, answer), { secret }), fault(reason, message));
  });
}

test('the wish of Retry-After is heard, and nothing of the keys is sent but the signature', async (t) => {
  let seen: IncomingMessage['headers'] | undefined;
  const answer: Answer = (request, response) => {
    seen = request.headers;
    failing(503, 'SlowDown', { 'retry-after': '17' })(request, response);
  };
  await assert.rejects(
    look(t, answer),
    (error: { retryAfterSeconds?: number }) => fault('RateLimited')(error) && error.retryAfterSeconds === 17,
  );
  assert.match(
    seen!.authorization!,
    /^AWS4-HMAC-SHA256 Credential=canary-akid\/\d{8}\/us-east-1\/s3\/aws4_request, SignedHeaders=host;x-amz-[a-z0-9;-]+, Signature=[0-9a-f]{64}$/,
  );
  assert.equal(seen!['x-amz-security-token'], secret.sessionToken);
  assert.doesNotMatch(JSON.stringify(seen), /canary-secret/);
});

test('a redirect on the same server is followed, and signed anew', async (t) => {
  const signatures = new Set<string>();
  const answer: Answer = (request, response) => {
    signatures.add(request.headers.authorization!);
    if (request.url!.startsWith('/bucket')) response.writeHead(307, { location: `/s3${request.url}` }).end();
    else bucket([])(request, response);
  };
  await assert.rejects(look(t, answer), fault('NotFound', /has nothing below/));
  assert.equal(signatures.size, 2);
});

test('without keys a redirect to another server is followed as any other', async (t) => {
  const there = await serve(t, bucket([{ key: 'packs/a.md' }]));
  const answer: Answer = (request, response) =>
    void response.writeHead(302, { location: `${there}${request.url}` }).end();
  assert.equal((await look(t, answer, { secret: {} })).files.size, 1);
});

test('a listing without end stops at the cap on entries, whatever its pages hold', { timeout: 100_000 }, async (t) => {
  let pages = 0;
  const endless: Answer = (_request, response) => {
    const rows = Array.from({ length: 1000 }, (_, at) => ({ key: `packs/${pages}-${at}` }));
    response.end(listing(rows, nextToken(String(++pages))));
  };
  await assert.rejects(look(t, endless), fault('LimitExceeded', /more than 500000 objects/));
  assert.equal(pages, 501);
});

test('so many long keys that they would fill the memory are LimitExceeded', { timeout: 100_000 }, async (t) => {
  let pages = 0;
  const answer: Answer = (_request, response) => {
    const page = ++pages;
    const rows = Array.from({ length: 1000 }, (_, at) => ({ key: `packs/${'x'.repeat(1000)}/${page}/${at}` }));
    response.end(listing(rows, nextToken(String(page))));
  };
  await assert.rejects(
    look(t, answer),
    fault('LimitExceeded', /more than 128 MiB of keys there, .*: narrow spec\.url/),
  );
  assert.ok(pages < 150, String(pages));
});

test('sixty thousand keys, escaped as far as can be, hold nothing else up', { timeout: 100_000 }, async (t) => {
  const pages = Array.from({ length: 60 }, (_, page) =>
    listing(
      Array.from({ length: 1000 }, (_, at) => ({ key: `packs/${'&#x61;'.repeat(150)}/${page}/${at}.md` })),
      page === 59 ? '' : nextToken(String(page + 1)),
    ),
  );
  // In slices, since the fake lives in the same process.
  const answer: Answer = (request, response) =>
    void Readable.from(Buffer.from(pages[Number(queryOf(request).get('continuation-token') ?? 0)]!)).pipe(response);
  const from = await url(t, answer);
  const longest = await heldUp(async () => {
    const { entries } = await lookS3(from, { secret, want: () => false });
    assert.equal(entries.length, 60_000);
  });
  assert.ok(longest < 100, `${longest.toFixed(0)} ms`);
});

const contradictions: Record<string, Answer> = {
  'the same page again and again': (_request, response) =>
    void response.end(listing([{ key: 'packs/a.md' }], nextToken(String(Math.random())))),
  'a next page that is this one': (request, response) => {
    const token = queryOf(request).get('continuation-token');
    response.end(listing([{ key: `packs/${token}` }], nextToken('same')));
  },
  'empty pages without end': (_request, response) => void response.end(listing([], nextToken(String(Math.random())))),
};
for (const [what, answer] of Object.entries(contradictions)) {
  test(`${what} is UpstreamInvalid`, async (t) => {
    await assert.rejects(look(t, answer), fault('UpstreamInvalid', /twice|without a way to go on/));
  });
}

test('keys with .., //, a slash in front or behind are left out by name; the others are read', async (t) => {
  const asked: string[] = [];
  const answer = bucket(
    [
      'packs/../escape.md',
      'packs/a/../../b.md',
      'packs/./c.md',
      'packs//d.md',
      'packs//',
      'packs/e/',
      'packs/ok.md',
      'packs/it&#x27;s.md',
      'packs/',
    ].map((key) => ({ key, size: key.endsWith('/') && key !== 'packs//' ? 0 : 1 })),
    (request, response) => {
      asked.push(request.url!);
      response.end('x');
    },
  );
  const { files, problems } = await look(t, answer);
  assert.deepEqual([...files.keys()].sort(), ["it's.md", 'ok.md']);
  assert.deepEqual(asked.sort(), ['/bucket/packs/it%27s.md', '/bucket/packs/ok.md']);
  assert.deepEqual(
    problems.map(({ reason, path }) => [reason, path]),
    ['../escape.md', './c.md', '/', '/d.md', 'a/../../b.md'].map((path) => ['BadFileName', path]),
  );
});

test('at the root of a bucket a key with a slash in front is left out too', async (t) => {
  const origin = await serve(t, bucket([{ key: '/lead.md' }, { key: 'ok.md' }]));
  const { files, problems } = await lookS3(`s3+${origin}/bucket`, { secret });
  assert.deepEqual([...files.keys()], ['ok.md']);
  assert.match(problems[0]!.message, /its key has an empty part/);
});

test('thousands of bad keys are two hundred problems and a count', async (t) => {
  const answer = bucket(Array.from({ length: 900 }, (_, at) => ({ key: `packs//${at}` })));
  const { problems } = await look(t, answer);
  assert.equal(problems.length, 201);
  assert.match(problems.at(-1)!.message, /^700 more objects/);
});

test('whatever order the keys are listed in, the revision is the same', async (t) => {
  const objects = ['packs/b.md', 'packs/a.md', 'packs/ä.md', 'packs/a/b.md'].map((key) => ({ key }));
  const [one, other] = [await look(t, bucket(objects)), await look(t, bucket(objects.toReversed()))];
  assert.equal(one.revision, other.revision);
});

test('an ETag that promises nothing names no bytes: they are read at every look', async (t) => {
  for (const etag of ['', 'W/"weak"', '"new\nline"']) {
    const { entries } = await look(t, bucket([{ key: 'packs/a.md', etag }]));
    assert.deepEqual(entries, [{ path: 'a.md', size: 1 }]);
  }
});

test('a key of 1,024 bytes is read, and one that the server lists damaged is left out, be it escaped beyond that', async (t) => {
  const rows = [`packs/${'x'.repeat(1018)}`, `packs/${'%ff'.repeat(600)}`].map((key) => row({ key })).join('');
  const answer: Answer = ({ url }, response) =>
    void response.end(
      url!.includes('list-type=2')
        ? `<ListBucketResult><EncodingType>url</EncodingType>${rows}</ListBucketResult>`
        : 'x',
    );
  const { files, problems } = await look(t, answer);
  assert.deepEqual([...files.keys()], ['x'.repeat(1018)]);
  assert.deepEqual(
    problems.map(({ path }) => path),
    ['\ufffd'.repeat(600)],
  );
});

test('an error that is made to be read for long holds nothing else up', async (t) => {
  for (const unit of ['<Error ', '<Error><Code>', '<Error><Region>']) {
    const from = await url(t, (_request, response) => void response.writeHead(400).end(unit.repeat(5000)));
    const longest = await heldUp(() => assert.rejects(probeS3(from, { secret }), fault('UpstreamInvalid')));
    assert.ok(longest < 100, `${unit} ${longest.toFixed(0)} ms`);
  }
});

const unlike: Record<string, Answer> = {
  'another length': (_request, response) => void response.end('xyz'),
  'another ETag': (_request, response) => void response.setHeader('etag', '"f"').end('x'),
  'a part of it': (_request, response) => void response.writeHead(206, { 'content-range': 'bytes 0-0/9' }).end('x'),
  'more than an object may have': (_request, response) => void response.end('x'.repeat(2000)),
  'a page of a sign-in': (_request, response) =>
    void response.setHeader('content-type', 'text/html').end('<p>canary</p>'),
  'a 404': failing(404, 'NoSuchKey'),
  'a 404 without a word': (_request, response) => void response.writeHead(404).end(),
  'a 412': failing(412, 'PreconditionFailed'),
};
for (const [what, read] of Object.entries(unlike)) {
  test(`an object that always comes as ${what} fails the look by its name, and is never served short`, async (t) => {
    const answer = bucket([{ key: 'packs/a.md' }], read);
    await assert.rejects(look(t, answer, { limits: { fileSize: 1000 } }), fault('UpstreamInvalid', /"a\.md"/));
  });
}

test('an object that may not be read fails the look by its name', async (t) => {
  for (const code of ['AccessDenied', 'InvalidObjectState']) {
    await assert.rejects(
      look(t, bucket([{ key: 'packs/a.md' }], failing(403, code))),
      fault('AccessDenied', /refuses to show "a\.md"; let the keys of spec\.secretRef/),
    );
  }
});

test('objects are asked for as they were listed', async (t) => {
  const asked: (string | undefined)[] = [];
  const answer = bucket(
    [
      { key: 'packs/a.md', etag: '"e-2"' },
      { key: 'packs/b.md', etag: 'bare' },
      { key: 'packs/c.md', etag: '' },
    ],
    (request, response) => {
      asked.push(`${request.url} ${request.headers['if-match']} ${request.headers['accept-encoding']}`);
      response.end('x');
    },
  );
  await look(t, answer);
  assert.deepEqual(asked.sort(), [
    '/bucket/packs/a.md "e-2" identity',
    '/bucket/packs/b.md "bare" identity',
    '/bucket/packs/c.md undefined identity',
  ]);
});

test('a server that says nothing costs one bounded time', async (t) => {
  await assert.rejects(
    look(t, () => {}, { guard: { idleTimeout: 200 } }),
    fault('TimedOut'),
  );
  const silent = bucket([{ key: 'packs/a.md' }], () => {});
  await assert.rejects(look(t, silent, { guard: { idleTimeout: 200 } }), fault('TimedOut'));
});

test('where the network may not go, nothing is asked', async (t) => {
  let asked = 0;
  const answer: Answer = (_request, response) => {
    asked += 1;
    response.end(listing([]));
  };
  await assert.rejects(look(t, answer, { guard: { allowLoopback: false } }), fault('AddressNotAllowed', /loopback/));
  await assert.rejects(lookS3('s3+http://169.254.169.254/bucket', { secret }), fault('AddressNotAllowed'));
  assert.equal(asked, 0);
});
