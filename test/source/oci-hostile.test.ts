// Registries that lie, never end, lead elsewhere or pack bombs. They are fakes: no real registry does this on demand.
import assert from 'node:assert/strict';
import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import { buffer } from 'node:stream/consumers';
import { describe, type TestContext, test } from 'node:test';
import { constants, createZstdCompress, gzipSync, zstdCompressSync } from 'node:zlib';
import { testCertificates } from '../fixtures/certificates.ts';
import { newMemory } from '../fixtures/git-look.ts';
import { heldUp } from '../fixtures/held-up.ts';
import { fault, listen, serve } from '../fixtures/http.ts';
import { lookOci, type OciLookOptions, probeOci } from '../fixtures/oci-look.ts';
import { digestOf, ociType } from '../fixtures/registry-server.ts';
import { tarOf } from '../fixtures/tar.ts';

type Handler = (request: IncomingMessage, response: ServerResponse) => void;

const good = gzipSync(tarOf([{ name: 'SKILL.md', content: 'skill' }]));
const manifestOf = (...layers: object[]) => JSON.stringify({ schemaVersion: 2, mediaType: ociType.manifest, layers });
const layerOf = (bytes: Buffer, more: object = {}) => ({
  mediaType: ociType.tarGzip,
  digest: digestOf(bytes),
  size: bytes.length,
  ...more,
});

/** A registry of one artifact: manifests by reference, blobs by digest, each as bytes or as what answers. */
function registry(
  manifests: Record<string, string | Buffer | Handler>,
  blobs: Record<string, Buffer | Handler> = { [digestOf(good)]: good },
): RequestListener {
  return (request, response) => {
    const [, kind, reference = ''] = /\/(manifests|blobs)\/(.*)$/.exec(request.url!) ?? [];
    const answer = (kind === 'manifests' ? manifests : blobs)[reference];
    if (typeof answer === 'function') return answer(request, response);
    if (answer === undefined) return void response.writeHead(404).end('canary');
    const type = kind === 'manifests' ? ociType.manifest : 'application/octet-stream';
    const digest: Record<string, string> = kind === 'manifests' ? { 'docker-content-digest': digestOf(answer) } : {};
    response.writeHead(200, { 'content-type': type, 'content-length': Buffer.byteLength(answer), ...digest });
    response.end(request.method === 'HEAD' ? undefined : answer);
  };
}

async function lookAt(t: TestContext, listener: RequestListener, options: OciLookOptions = {}) {
  const origin = await serve(t, listener);
  return await lookOci(`oci+${origin}/team/a:x`, options);
}

const one = manifestOf(layerOf(good));

/** What the memory of the process grows by meanwhile, in bytes. */
async function grown(work: () => Promise<unknown>): Promise<number> {
  const before = process.memoryUsage().rss;
  let most = 0;
  const watch = setInterval(() => {
    most = Math.max(most, process.memoryUsage().rss - before);
  }, 5);
  await work().finally(() => clearInterval(watch));
  return most;
}

describe('a registry that lies', () => {
  test('of a layer: other bytes, more, fewer, or none of them', async (t) => {
    const digest = digestOf(good);
    const other = Buffer.from(good);
    other[20]! ^= 1;
    const cases: Record<string, Buffer | Handler> = {
      'one bit': other,
      more: Buffer.concat([good, Buffer.from('x')]),
      fewer: good.subarray(0, -1),
      'the bytes, packed once more': (_request, response) =>
        void response.writeHead(200, { 'content-encoding': 'gzip' }).end(gzipSync(good)),
      'only a part': (_request, response) => void response.writeHead(206).end(good),
    };
    for (const [what, bytes] of Object.entries(cases)) {
      await assert.rejects(
        lookAt(t, registry({ x: one }, { [digest]: bytes })),
        fault('UpstreamInvalid', /other bytes|whole/),
        what,
      );
    }
    const [plain, another] = ['skill', 'spill'].map((content) => tarOf([{ name: 'SKILL.md', content }]));
    const swapped = registry({ x: manifestOf(layerOf(plain!)) }, { [digestOf(plain!)]: another! });
    await assert.rejects(lookAt(t, swapped), fault('UpstreamInvalid', /other bytes/));
    const file = layerOf(plain!, { mediaType: 'text/plain', annotations: { 'org.opencontainers.image.title': 'a' } });
    const swappedFile = registry({ x: manifestOf(file) }, { [digestOf(plain!)]: another! });
    await assert.rejects(lookAt(t, swappedFile), fault('UpstreamInvalid', /other bytes/));
    const stored: Handler = (_request, response) =>
      void response.writeHead(200, { 'content-encoding': 'gzip' }).end(good);
    const { files } = await lookAt(t, registry({ x: one }, { [digest]: stored }));
    assert.equal(files.get('SKILL.md')?.toString(), 'skill', 'what is stored counts, whatever it is called');
    await assert.rejects(lookAt(t, registry({ x: one }, {})), fault('UpstreamInvalid', /does not have a layer/));
  });

  test('of the size, so that an endless layer ends where the manifest says', async (t) => {
    let sent = 0;
    const endless: Handler = (_request, response) => {
      const more = (): void => {
        while (response.write(Buffer.alloc(65_536))) sent += 65_536;
      };
      response.on('drain', more).on('error', () => {});
      more();
    };
    await assert.rejects(lookAt(t, registry({ x: one }, { [digestOf(good)]: endless })), fault('UpstreamInvalid'));
    assert(sent < 10_000_000, `${sent} bytes`);
    const large = manifestOf(layerOf(good, { size: 2 ** 31 }));
    await assert.rejects(lookAt(t, registry({ x: large })), fault('LimitExceeded', /2147483648 bytes, packed/));
  });

  test('of a manifest: by its header, or by the digest that was asked for', async (t) => {
    const told: Handler = (_request, response) =>
      void response.writeHead(200, { 'docker-content-digest': digestOf('other') }).end(one);
    await assert.rejects(
      lookAt(t, registry({ x: told })),
      fault('UpstreamInvalid', /another manifest than its digest/),
    );
    const digest = digestOf('what was pinned');
    const origin = await serve(t, registry({ [digest]: one }));
    await assert.rejects(lookOci(`oci+${origin}/a@${digest}`, { force: true }), fault('UpstreamInvalid'));
    const index = JSON.stringify({ schemaVersion: 2, manifests: [{ mediaType: ociType.manifest, digest, size: 1 }] });
    await assert.rejects(lookAt(t, registry({ x: index, [digest]: one })), fault('UpstreamInvalid'));
  });

  test('without a digest in the header, or without HEAD, it is asked for the manifest', async (t) => {
    const bare: Handler = (_request, response) => void response.writeHead(200).end(one);
    const noHead: Handler = (request, response) =>
      void (request.method === 'HEAD' ? response.writeHead(405).end() : response.end(one));
    for (const answer of [bare, noHead]) {
      const origin = await serve(t, registry({ x: answer }));
      assert.equal(await probeOci(`oci+${origin}/team/a:x`), `x@${digestOf(one)}`);
    }
  });

  const manifests: Record<string, [string | object, RegExp]> = {
    'a sign-in page': ['<html>canary</html>', /is no manifest.*sign-in page/],
    'a text': ['"canary"', /is no manifest/],
    'a manifest of schema 1': [{ schemaVersion: 1, fsLayers: [] }, /schema 1/],
    'no layers': [{ schemaVersion: 2 }, /not made as manifests are/],
    'a digest of another kind': [manifestOf({ ...layerOf(good), digest: `sha512:${'0'.repeat(128)}` }), /no sha256/],
    'a negative size': [manifestOf({ ...layerOf(good), size: -1 }), /not made as manifests are/],
    'a digest that leads elsewhere': [manifestOf({ ...layerOf(good), digest: 'sha256:../../x' }), /no sha256/],
    'an index of nothing': [{ schemaVersion: 2, manifests: [] }, /names nothing to read/],
    'an index that is none': [{ schemaVersion: 2, manifests: [{}] }, /not made as indexes are/],
  };
  for (const [what, [content, words]] of Object.entries(manifests)) {
    test(`${what} in a manifest's place is UpstreamInvalid`, async (t) => {
      const text = typeof content === 'string' ? content : JSON.stringify(content);
      await assert.rejects(lookAt(t, registry({ x: text })), fault('UpstreamInvalid', words));
    });
  }

  test('an index in an index ends there', async (t) => {
    const inner = JSON.stringify({
      schemaVersion: 2,
      manifests: [{ mediaType: ociType.manifest, digest: digestOf(one), size: one.length }],
    });
    const outer = JSON.stringify({
      schemaVersion: 2,
      manifests: [{ mediaType: ociType.index, digest: digestOf(inner), size: inner.length }],
    });
    const asked: string[] = [];
    const answers = registry({ x: outer, [digestOf(inner)]: inner, [digestOf(one)]: one });
    const listener: RequestListener = (request, response) => {
      asked.push(`${request.method}`);
      answers(request, response);
    };
    await assert.rejects(lookAt(t, listener), fault('UpstreamInvalid', /an index in an index/));
    assert.deepEqual(asked, ['HEAD', 'GET', 'GET']);
  });

  test('manifests without end, and ten thousand layers, are LimitExceeded', async (t) => {
    const endless: Handler = (request, response) => {
      if (request.method === 'HEAD') return void response.writeHead(200).end();
      response.on('error', () => {});
      const more = (): void => {
        while (response.write(' '.repeat(65_536)));
      };
      response.on('drain', more);
      more();
    };
    await assert.rejects(lookAt(t, registry({ x: endless })), fault('LimitExceeded'));
    const many = manifestOf(...Array.from({ length: 10_000 }, () => layerOf(good)));
    await assert.rejects(lookAt(t, registry({ x: many })), fault('LimitExceeded', /more than 4096 layers/));
  });

  test('silence is TimedOut; asking to slow down is RateLimited, for as long as it says', async (t) => {
    const guard = { idleTimeout: 200 };
    const silent: Handler = () => {};
    await assert.rejects(lookAt(t, registry({ x: silent }), { guard }), fault('TimedOut'));
    const stuck: Handler = (_request, response) => void response.writeHead(200).write(good.subarray(0, 10));
    await assert.rejects(lookAt(t, registry({ x: one }, { [digestOf(good)]: stuck }), { guard }), fault('TimedOut'));
    const busy: Handler = (_request, response) =>
      void response.writeHead(429, { 'retry-after': '77', 'ratelimit-remaining': '0;w=21600' }).end('canary');
    await assert.rejects(lookAt(t, registry({ x: busy })), (error: Error & { retryAfterSeconds?: number }) => {
      assert.equal(error.retryAfterSeconds, 77);
      return fault('RateLimited', /slow down.*spec\.secretRef/)(error);
    });
    const closed: Handler = (_request, response) => void response.writeHead(403).end('canary');
    await assert.rejects(lookAt(t, registry({ x: closed })), fault('AccessDenied'));
  });
});

describe('a registry that leads elsewhere', () => {
  const secret = { username: 'ada', password: 'canary-secret' };

  test('a store of blobs is followed without the credentials; a closed address is not', async (t) => {
    const shown: (string | undefined)[] = [];
    const store = await serve(t, (request, response) => {
      shown.push(request.headers.authorization);
      response.end(good);
    });
    const asks =
      (then: RequestListener): RequestListener =>
      (request, response) =>
        request.headers.authorization === undefined
          ? void response.writeHead(401, { 'www-authenticate': 'Basic realm="x"' }).end()
          : then(request, response);
    const to =
      (location: string): Handler =>
      (_request, response) =>
        void response.writeHead(307, { location }).end();
    const listener = asks(registry({ x: one }, { [digestOf(good)]: to(`${store}/blob?signed=canary`) }));
    const { files } = await lookAt(t, listener, { secret });
    assert.equal(files.get('SKILL.md')?.toString(), 'skill');
    assert.deepEqual(shown, [undefined]);
    const closed = registry({ x: one }, { [digestOf(good)]: to('http://169.254.169.254/latest/meta-data') });
    await assert.rejects(lookAt(t, closed), fault('AddressNotAllowed'));
    await assert.rejects(
      lookAt(t, registry({ x: to('http://[::ffff:169.254.169.254]/') })),
      fault('AddressNotAllowed'),
    );
    const loopback = registry({ x: one }, { [digestOf(good)]: to('http://127.0.0.2:1/x') });
    await assert.rejects(lookAt(t, loopback, { guard: { deniedCidrs: ['127.0.0.2/32'] } }), fault('AddressNotAllowed'));
  });

  const challenge =
    (realm: string): RequestListener =>
    (_request, response) =>
      void response
        .writeHead(401, { 'www-authenticate': `Bearer realm="${realm}",service="s",scope="repository:x:push"` })
        .end();
  const realms: Record<string, [string, string, RegExp]> = {
    'a metadata service': ['https://169.254.169.254/token', 'AddressNotAllowed', /token server of 127\.0\.0\.1/],
    'another host without TLS': ['http://127.0.0.2:9/token', 'UpstreamInvalid', /no https address/],
    'a metadata service without TLS': ['http://169.254.169.254/latest', 'UpstreamInvalid', /no https address/],
    'a file': ['file:///etc/passwd', 'UpstreamInvalid', /no https address/],
    nothing: ['', 'UpstreamInvalid', /no https address/],
    'no address': ['/token', 'UpstreamInvalid', /no https address/],
    'a very long address': [`https://h/${'x'.repeat(5000)}`, 'UpstreamInvalid', /no https address/],
  };
  for (const [what, [realm, reason, words]] of Object.entries(realms)) {
    test(`a registry that sends for a token to ${what} gets no credentials anywhere`, async (t) => {
      await assert.rejects(lookAt(t, challenge(realm), { secret }), fault(reason, words));
    });
  }

  test('from https nobody is sent for a token to http, not to the same host either', async (t) => {
    const { ca, key, cert } = await testCertificates();
    const shown: unknown[] = [];
    const plain = await serve(t, (request, response) => {
      shown.push(request.headers);
      response.end('{"token":"x"}');
    });
    const port = await listen(t, createTlsServer({ key, cert }, challenge(`${plain}/token`)) as never);
    const look = lookOci(`oci://127.0.0.1:${port}/a:x`, { secret: { ...secret, 'ca.crt': ca } });
    await assert.rejects(look, fault('UpstreamInvalid', /no https address/));
    assert.deepEqual(shown, []);
  });

  test('a token server that gives no token, one of many lines, or never ends, is told of; more than reading is not asked for', async (t) => {
    const asked: string[] = [];
    let answer = '{}';
    const tokens = await serve(t, (request, response) => {
      asked.push(request.url!);
      response.end(answer);
    });
    for (const given of [
      '{}',
      '<html>canary',
      '{"token":"a\\r\\nx-canary: b"}',
      JSON.stringify({ token: 'x'.repeat(20_000) }),
    ]) {
      answer = given;
      await assert.rejects(
        lookAt(t, challenge(`${tokens}/token?a=b`), { secret }),
        fault('UpstreamInvalid', /no token/),
      );
    }
    assert.equal(asked[0], '/token?a=b&service=s&scope=repository%3Ateam%2Fa%3Apull');
    answer = `{"token":"${'x'.repeat(300_000)}"}`;
    await assert.rejects(lookAt(t, challenge(`${tokens}/token`), { secret }), fault('LimitExceeded'));
    answer = '{"token":"good"}';
    asked.length = 0;
    await assert.rejects(lookAt(t, challenge(`${tokens}/token`), { secret }), fault('AuthenticationFailed'));
    assert.equal(asked.length, 1, 'and a registry that is never content is asked once more, not for ever');
  });

  test('the host that a redirect leads to sends nobody for a token', async (t) => {
    const asked: string[] = [];
    const evil = await serve(t, (request, response) => {
      asked.push(`${request.url} ${request.headers.authorization}`);
      challenge('http://127.0.0.1:9/token')(request, response);
    });
    const away: Handler = (_request, response) => void response.writeHead(307, { location: `${evil}/blob` }).end();
    await assert.rejects(
      lookAt(t, registry({ x: one }, { [digestOf(good)]: away }), { secret }),
      fault('AuthenticationFailed'),
    );
    assert.deepEqual(asked, ['/blob undefined']);
  });
});

describe('layers that are bombs', () => {
  const artifact = (bytes: Buffer, more: object = {}): RequestListener =>
    registry({ x: manifestOf(layerOf(bytes, more)) }, { [digestOf(bytes)]: bytes });
  const limits = { totalSize: 4 * 2 ** 20 };

  /** A gzip of several goes on with the next one: nothing large is made here, so that what is measured is the look. */
  const packed = (...parts: (readonly [part: Buffer, times: number])[]): Buffer =>
    Buffer.concat(parts.flatMap(([part, times]) => new Array<Buffer>(times).fill(gzipSync(part))));
  const mebibyte = Buffer.alloc(2 ** 20);
  const beginning = (size: number): Buffer => tarOf([{ name: 'zeros', content: '', size }]).subarray(0, 512);

  test('a small layer of one huge file is LimitExceeded by the field that raises it, and memory stays flat', async (t) => {
    const bomb = packed([beginning(600 * 2 ** 20), 1], [mebibyte, 600]);
    const growth = await grown(() =>
      assert.rejects(
        lookAt(t, artifact(bomb), { limits }),
        fault('LimitExceeded', /16777216 bytes.*spec\.limits\.totalSize/),
      ),
    );
    assert(growth < 150_000_000, `${growth} bytes`);
  });

  test('a large file beside a SKILL.md costs no memory: it is told by name, and the skill is read', async (t) => {
    const skill = tarOf([{ name: 'SKILL.md', content: 'skill' }]);
    const bytes = packed([beginning(400 * 2 ** 20), 1], [mebibyte, 400], [skill, 1]);
    const growth = await grown(async () => {
      const { files, tooLarge } = await lookAt(t, artifact(bytes));
      assert.deepEqual([...files.keys()], ['SKILL.md']);
      assert.deepEqual([...tooLarge], [['zeros', 400 * 2 ** 20]]);
    });
    assert(growth < 150_000_000, `${growth} bytes`);
  });

  test('what stands behind the end of a tar is not read', async (t) => {
    const bytes = packed([tarOf([{ name: 'SKILL.md', content: 'skill' }]), 1], [mebibyte, 300]);
    const growth = await grown(async () => {
      const { files } = await lookAt(t, artifact(bytes), { limits });
      assert.deepEqual([...files.keys()], ['SKILL.md']);
    });
    assert(growth < 100_000_000, `${growth} bytes`);
  });

  test('a tar of a million files is LimitExceeded', async (t) => {
    const some = tarOf(Array.from({ length: 1000 }, (_, at) => ({ name: `f${at}` }))).subarray(0, 512_000);
    const bytes = packed([some, 1000]);
    await assert.rejects(lookAt(t, artifact(bytes)), fault('LimitExceeded', /more than 500000 entries/));
  });

  test('a hundred thousand files hold nobody up, when they are listed and when they are remembered', async (t) => {
    const parts = Array.from({ length: 100 }, (_, folder) => {
      const files = Array.from({ length: 1000 }, (_, at) => ({
        name: `skills/${folder}/f${at}.md`,
        content: `${folder} ${at}`,
      }));
      return gzipSync(tarOf(files).subarray(0, -1024));
    });
    const bytes = Buffer.concat([...parts, gzipSync(Buffer.alloc(1024))]);
    const origin = await serve(t, artifact(bytes));
    const memory = newMemory();
    const look = () => lookOci(`oci+${origin}/a:x`, { memory, want: () => false });
    assert.equal((await look()).entries.length, 100_000);
    const remembered = await heldUp(look);
    memory.bytes = undefined;
    const listed = await heldUp(look);
    assert(listed < 80, `${listed} ms`);
    assert(remembered < 80, `${remembered} ms`);
  });

  test('names without end, and folders without end, are LimitExceeded', async (t) => {
    const long = tarOf([
      { name: '././@LongLink', type: 'L', content: `${'long/'.repeat(200_000)}x\0` },
      { name: 'x', content: '' },
    ]).subarray(0, -1024);
    const names = packed([long, 100]);
    await assert.rejects(lookAt(t, artifact(names)), fault('LimitExceeded', /bytes of names/));
    const deep = gzipSync(
      tarOf([
        { name: `${'d/'.repeat(49)}x` },
        { name: '././@LongLink', type: 'L', content: 'd/'.repeat(100) },
        { name: 'y' },
      ]),
    );
    await assert.rejects(lookAt(t, artifact(deep)), fault('LimitExceeded', /64 folders deep/));
    const title = {
      mediaType: 'text/plain',
      annotations: { 'org.opencontainers.image.title': `${'a/'.repeat(100_000)}x` },
    };
    await assert.rejects(lookAt(t, artifact(good, title)), fault('LimitExceeded', /64 folders deep/));
    const meta = gzipSync(
      tarOf([
        { name: 'PaxHeader', type: 'x', content: 'x'.repeat(2 ** 20 + 1) },
        { name: 'short', content: '' },
      ]),
    );
    await assert.rejects(lookAt(t, artifact(meta)), fault('UpstreamInvalid', /a name that is too long/));
  });

  test('the same layer a thousand times is counted a thousand times', async (t) => {
    const many = gzipSync(tarOf(Array.from({ length: 1000 }, (_, at) => ({ name: `f${at}` }))));
    const manifest = manifestOf(...Array.from({ length: 1000 }, () => layerOf(many)));
    await assert.rejects(
      lookAt(t, registry({ x: manifest }, { [digestOf(many)]: many })),
      fault('LimitExceeded', /more than 500000 entries/),
    );
  });

  test('what is damaged is UpstreamInvalid: broken gzip and zstd, a tar that breaks off, a header that is none', async (t) => {
    const tar = tarOf([{ name: 'SKILL.md', content: 'x'.repeat(2000) }]);
    const header = Buffer.from(tar);
    header[0]! ^= 1;
    for (const [what, bytes] of Object.entries({
      gzip: good.subarray(0, 30),
      'gzip with something behind it': Buffer.concat([good.subarray(0, 15), good.subarray(20)]),
      zstd: zstdCompressSync(tar).subarray(0, 20),
      'a tar that breaks off': tar.subarray(0, 1500),
      'a checksum': header,
      text: Buffer.from('canary '.repeat(200)),
      nothing: Buffer.alloc(0),
    })) {
      await assert.rejects(lookAt(t, artifact(bytes)), fault('UpstreamInvalid', /a layer (is|ends)/), what);
    }
    const empty = gzipSync(Buffer.alloc(1024));
    assert.deepEqual([...(await lookAt(t, artifact(empty))).files], [], 'while a tar of nothing is just that');
  });

  test('a zstd stream that wants more memory than it may have is UpstreamInvalid', async (t) => {
    const packing = createZstdCompress({ params: { [constants.ZSTD_c_windowLog]: 27 } });
    const bytes = buffer(packing);
    const tar = tarOf([{ name: 'SKILL.md', content: 'x' }]);
    packing.write(tar.subarray(0, 512));
    await new Promise<void>((resolve) => packing.flush(resolve));
    packing.end(tar.subarray(512));
    await assert.rejects(lookAt(t, artifact(await bytes)), fault('UpstreamInvalid'));
  });

  test('a layer that is named as a tar and as a file is each by itself', async (t) => {
    const manifest = manifestOf(
      layerOf(good),
      layerOf(good, { mediaType: 'text/plain', annotations: { 'org.opencontainers.image.title': 'whole.bin' } }),
    );
    const memory = newMemory();
    const { files } = await lookAt(t, registry({ x: manifest }), { memory });
    assert.deepEqual(files.get('whole.bin'), good);
    assert.equal(files.get('SKILL.md')?.toString(), 'skill');
  });
});
