// Buckets against real servers: versitygw, which is strict, and s3rver, which is lenient.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import { type AddressInfo, connect, type Socket } from 'node:net';
import { after, before, beforeEach, describe, mock, test } from 'node:test';
import { SourceFault } from '../../operator/reasons.ts';
import {
  type BucketServerFixture,
  bucketKeys,
  bucketRequests,
  bucketServerKinds,
  startBucketServer,
} from '../fixtures/bucket-server.ts';
import { testCertificates } from '../fixtures/certificates.ts';
import { newMemory } from '../fixtures/git-look.ts';
import { fault } from '../fixtures/http.ts';
import { lookS3, probeS3, type S3LookOptions } from '../fixtures/s3-look.ts';

const texts = (files: ReadonlyMap<string, Buffer>): Record<string, string> =>
  Object.fromEntries([...files].map(([path, bytes]) => [path, bytes.toString()] as const).sort());
const gets = (server: BucketServerFixture): string[] => bucketRequests(server).filter((one) => !one.endsWith('?'));

for (const kind of bucketServerKinds) {
  describe(kind, () => {
    let server: BucketServerFixture;
    const look = (options: S3LookOptions = {}, prefix = '') =>
      lookS3(server.sourceUrl(prefix), { secret: server.secret, ...options });
    const probe = (options: S3LookOptions = {}, prefix = '') =>
      probeS3(server.sourceUrl(prefix), { secret: server.secret, ...options });
    before(async () => {
      server = await startBucketServer(kind);
    });
    beforeEach(() => server.reset());
    after(() => server.close());

    test('every object of the prefix comes byte by byte, and nothing from beside it', async () => {
      const binary = Buffer.from([0, 0xff, 0xfe, 13, 10, 0x80]);
      await server.put({
        'packs/README.md': '# Pack\r\n',
        'packs/skills/loki/SKILL.md': '\ufeff---\nname: loki\n---\n',
        'packs/skills/loki/logo.png': binary,
        'packs/skills/loki/empty.txt': '',
        'packs-of-others/README.md': 'not ours',
        'top.md': 'not ours',
      });
      const found = await look({}, 'packs');
      assert.deepEqual([...found.files.keys()].sort(), [
        'README.md',
        'skills/loki/SKILL.md',
        'skills/loki/empty.txt',
        'skills/loki/logo.png',
      ]);
      assert.deepEqual(found.files.get('skills/loki/logo.png'), binary);
      assert.equal(found.files.get('skills/loki/SKILL.md')?.toString(), '\ufeff---\nname: loki\n---\n');
      assert.match(found.revision, /^sha256:[0-9a-f]{64}$/);
      assert.equal(found.probed, found.revision);
      assert.deepEqual(found.problems, []);
    });

    test('of a subdirectory nothing else is listed; paths begin at the prefix', async () => {
      await server.put({ 'p/a/b/x.md': 'x', 'p/a/bc/y.md': 'y', 'p/z.md': 'z' });
      assert.deepEqual(texts((await look({ subdirectory: 'a/b' }, 'p/')).files), { 'a/b/x.md': 'x' });
    });

    test('awkward keys are signed and read as they are', async () => {
      const names = [
        'a#b.md',
        'what?.md',
        '100%.md',
        '%2e%2e',
        '%41 and %2F.md',
        'with blank.md',
        'a+b c.md',
        "it's (1) [x] {y} & <z>; a=b,c+d@e!$*~.md",
        'größe é 漢字 🦉.md',
        'e\u0301.md',
        'a:b.md',
        'quote".md',
        'tab\there.md',
        ' blank at both ends ',
        '...',
        'x'.repeat(200),
      ];
      await server.put(Object.fromEntries(names.map((name) => [`odd #1+2/${name}`, `content of ${name}`])));
      const found = await look({}, 'odd%20%231+2');
      assert.deepEqual(found.problems, []);
      assert.deepEqual(
        texts(found.files),
        Object.fromEntries(names.map((name) => [name, `content of ${name}`]).sort()),
      );
    });

    test('keys that can be no paths are left out by name, and cost nothing else', async () => {
      await server.put({ 'ok.md': 'ok', 'a\\b.md': 'b', 'line\nbreak.md': 'l', 'bell\u0007.md': 'c', 'folder/': '' });
      const found = await look();
      assert.deepEqual(texts(found.files), { 'ok.md': 'ok' });
      assert.deepEqual(
        found.problems.map(({ reason, severity }) => [reason, severity]),
        Array(3).fill(['BadFileName', 'error']),
      );
      for (const { path, message } of found.problems) {
        // biome-ignore lint/suspicious/noControlCharactersInRegex: these are what it is about
        assert.doesNotMatch(path + message, /[\x00-\x1f]/);
        assert.match(message, /its key holds .*: rename it/);
      }
      assert.deepEqual(found.problems.map(({ path }) => path.replace('\ufffd', '?')).sort(), [
        'a\\b.md',
        'bell?.md',
        'line\\u000abreak.md',
      ]);
    });

    test('an unchanged bucket costs its listing, and no object, after a restart too', async () => {
      await server.put({ 'a.md': 'a', 'b/c.md': 'c' });
      const memory = newMemory();
      const first = await look({ memory });
      server.exchanges.length = 0;
      assert.equal(await probe({ memory: newMemory(memory.bytes) }), first.revision);
      assert.equal(await probe(), first.revision, 'without any memory the revision is the same');
      assert.deepEqual(bucketRequests(server), ['GET /B?', 'GET /B?']);
    });

    test('an edit, a new object and a deletion move the revision, and only what changed is read', async () => {
      await server.put({ 'p/a.md': 'a', 'p/b/c.md': 'c', 'p/b/d.md': 'd' });
      const [memory, known] = [newMemory(), new Map<string, Buffer>()];
      const revisions = [(await look({ memory, known }, 'p')).revision];
      const again = async (files: Record<string, string>, read: string[]) => {
        server.exchanges.length = 0;
        const found = await look({ memory, known }, 'p');
        assert.deepEqual(texts(found.files), files);
        assert.deepEqual(gets(server), read);
        assert(!revisions.includes(found.revision));
        revisions.push(found.revision);
      };
      await server.put({ 'p/b/c.md': 'x' });
      await again({ 'a.md': 'a', 'b/c.md': 'x', 'b/d.md': 'd' }, ['GET /B/p/b/c.md']);
      await server.put({ 'p/b/new.md': 'new' });
      await again({ 'a.md': 'a', 'b/c.md': 'x', 'b/d.md': 'd', 'b/new.md': 'new' }, ['GET /B/p/b/new.md']);
      await server.remove('p/b/c.md', 'p/b/d.md', 'p/b/new.md');
      await again({ 'a.md': 'a' }, []);
      await server.remove('p/a.md');
      await again({}, []);
      assert.equal(await probe({ memory }, 'p'), revisions.at(-1), 'and it stays empty');
    });

    test('the same bytes under two keys are two names for them', async () => {
      await server.put({ 'a.md': 'same', 'b.md': 'same' });
      const { entries } = await look();
      const [a, b] = entries.map(({ id }) => id);
      assert.equal(typeof a, 'string');
      assert.notEqual(a, b);
    });

    test('a prefix with nothing below it is NotFound, an empty bucket is empty', async () => {
      assert.deepEqual((await look()).entries, []);
      await server.put({ 'packs/a.md': 'a' });
      await assert.rejects(look({}, 'pakcs'), fault('NotFound', /has nothing below "pakcs\/"; check spec\.url/));
      await assert.rejects(look({ subdirectory: 'x' }, 'packs'), fault('NotFound', /"packs\/x\/"/));
      await server.put({ 'marked/': '' });
      assert.deepEqual((await look({}, 'marked')).entries, []);
    });

    test('a bucket that is not there is NotFound', async () => {
      const url = server.sourceUrl().replace(server.bucket, 'skills-elsewhere');
      await assert.rejects(
        probeS3(url, { secret: server.secret }),
        fault('NotFound', /has no bucket "skills-elsewhere"/),
      );
    });

    test('a key that nobody knows is AuthenticationFailed, and says that it is the accessKeyId', async () => {
      await server.put({ 'a.md': 'a' });
      const { secretAccessKey } = bucketKeys[kind];
      await assert.rejects(
        probe({ secret: { accessKeyId: 'canary-unknown', secretAccessKey } }),
        fault('AuthenticationFailed', /does not know the accessKeyId of the Secret that spec\.secretRef names/),
      );
    });

    // s3rver takes any signature.
    if (kind !== 's3rver') {
      test('a wrong secret is AuthenticationFailed, and says that it is the secretAccessKey', async () => {
        await server.put({ 'a.md': 'a' });
        const { accessKeyId } = bucketKeys[kind];
        await assert.rejects(
          probe({ secret: { accessKeyId, secretAccessKey: 'canary-wrong' } }),
          fault('AuthenticationFailed', /check secretAccessKey of the Secret that spec\.secretRef names/),
        );
      });
    }

    test('a clock that is off is AuthenticationFailed, and says that it is the clock', async () => {
      await server.put({ 'a.md': 'a' });
      mock.timers.enable({ apis: ['Date'], now: Date.now() - 3_600_000 });
      try {
        await assert.rejects(
          probe(),
          fault('AuthenticationFailed', /clock of the operator's machine is 3(59|60)\d s behind it/),
        );
      } finally {
        mock.timers.reset();
      }
    });

    test('a line end after a value of the Secret does no harm; a missing value is named', async () => {
      await server.put({ 'a.md': 'a' });
      const { accessKeyId, secretAccessKey } = bucketKeys[kind];
      await probe({ secret: { accessKeyId: `${accessKeyId}\n`, secretAccessKey: `${secretAccessKey}\r\n` } });
      for (const [secret, missing] of [
        [{ accessKeyId }, /lacks secretAccessKey$/],
        [{ secretAccessKey }, /lacks accessKeyId$/],
        [{ other: 'x' }, /lacks accessKeyId and secretAccessKey$/],
        [{ accessKeyId: 'a b', secretAccessKey }, /lacks accessKeyId \(in one line, without spaces\)$/],
      ] as const) {
        server.exchanges.length = 0;
        await assert.rejects(
          probe({ secret }),
          (error) => error instanceof SourceFault && error.reason === 'SecretNotFound' && missing.test(error.message),
        );
        assert.deepEqual(server.exchanges, []);
      }
    });

    // s3rver takes its time for each object.
    const [many, pages] = kind === 'versitygw' ? [3000, 3] : [1200, 2];
    test(`${many} objects are listed in ${pages} pages and all of them are read`, async () => {
      const objects = Object.fromEntries(
        Array.from({ length: many }, (_, at) => [`skills/loki/1.0.${at}/SKILL.md`, `version ${at}`]),
      );
      await server.put(objects);
      const known = new Map<string, Buffer>();
      const found = await look({ known });
      assert.deepEqual(texts(found.files), Object.fromEntries(Object.entries(objects).sort()));
      assert.equal(bucketRequests(server).length, many + pages);
      server.exchanges.length = 0;
      assert.equal((await look({ known })).revision, found.revision);
      assert.deepEqual(bucketRequests(server), Array(pages).fill('GET /B?'));
    });

    /** Does something once, before the first object is sent. */
    const beforeFirstRead = (work: () => Promise<void>): void => {
      server.behaviour = async (request) => {
        if (request.url?.includes('?')) return false;
        server.behaviour = undefined;
        await work();
        return false;
      };
    };

    test('an object that vanishes between list and read: the look begins anew and finds the bucket as it is', async () => {
      await server.put({ 'a.md': 'a', 'b.md': 'b' });
      beforeFirstRead(async () => {
        await server.remove('a.md', 'b.md');
        await server.put({ 'c.md': 'c' });
      });
      const found = await look();
      assert.deepEqual(texts(found.files), { 'c.md': 'c' });
      assert.notEqual(found.revision, found.probed);
      assert.equal(await probe(), found.revision);
    });

    test('an object that is another one between list and read, of the same size: likewise', async () => {
      await server.put({ 'a.md': 'one' });
      beforeFirstRead(() => server.put({ 'a.md': 'two' }));
      const found = await look();
      assert.deepEqual(texts(found.files), { 'a.md': 'two' });
      assert.equal(await probe(), found.revision);
    });

    test('a bucket that moves at every look fails it, by the name of the object', async () => {
      await server.put({ 'packs/a.md': 'a', 'packs/b.md': 'b' });
      let round = 0;
      server.behaviour = async (request) => {
        if (!request.url?.endsWith('/b.md')) return false;
        round += 1;
        await server.put({ 'packs/b.md': `round ${round}` });
        return false;
      };
      await assert.rejects(
        look({}, 'packs'),
        (error: { retryAfterSeconds?: number }) =>
          fault('UpstreamInvalid', /does not have "b\.md" as it lists it/)(error) && error.retryAfterSeconds === 1,
      );
      assert.equal(round, 2);
    });

    test('an object over fileSize is told of and not fetched; too many bytes in all fail the source', async () => {
      await server.put({ 'large.md': 'x'.repeat(2000), 'small.md': 'y' });
      const found = await look({ limits: { fileSize: 1000 } });
      assert.deepEqual([...found.tooLarge], [['large.md', 2000]]);
      assert.deepEqual(texts(found.files), { 'small.md': 'y' });
      assert.deepEqual(gets(server), ['GET /B/small.md']);
      await assert.rejects(look({ limits: { totalSize: 1500 } }), fault('LimitExceeded', /spec\.limits\.totalSize/));
    });

    test('an object that is stored packed comes as it is stored', async () => {
      const packed = Buffer.from('1f8b08000000000000034bcb0700a1c9f8a903000000', 'hex');
      await server.put({ 'a.md': packed }, { 'content-encoding': 'gzip' });
      assert.deepEqual((await look()).files.get('a.md'), packed);
    });
  });
}

describe('who may read', () => {
  let server: BucketServerFixture;
  before(async () => {
    server = await startBucketServer('versitygw');
  });
  beforeEach(() => server.reset());
  after(() => server.close());

  test('a bucket for everybody is read without a Secret, and without a signature', async () => {
    await server.put({ 'a.md': 'a', 'odd (1)+.md': 'odd' });
    await server.makePublic();
    let signed = 0;
    server.behaviour = ({ headers }) => {
      if (headers.authorization !== undefined) signed += 1;
      return false;
    };
    assert.deepEqual(texts((await lookS3(server.sourceUrl())).files), { 'a.md': 'a', 'odd (1)+.md': 'odd' });
    assert.equal(signed, 0);
  });

  test('any other bucket is AccessDenied without a Secret, and says which keys to put into one', async () => {
    await server.put({ 'a.md': 'a' });
    await assert.rejects(
      probeS3(server.sourceUrl()),
      fault(
        'AccessDenied',
        /to nobody without keys: name a Secret with accessKeyId and secretAccessKey in spec\.secretRef/,
      ),
    );
  });

  test('another region than that of the server is told of, with the one to write', async () => {
    await server.put({ 'a.md': 'a' });
    await assert.rejects(
      probeS3(server.sourceUrl(), { secret: server.secret, region: 'eu-west-1' }),
      fault('AuthenticationFailed', /no signature for the region eu-west-1: write spec\.region: us-east-1/),
    );
  });

  test('a server that speaks no TLS, and one that is away, are told apart', async () => {
    await assert.rejects(
      probeS3(server.sourceUrl().replace('s3+http:', 's3+https:'), { secret: server.secret }),
      fault('TLSFailed'),
    );
    await server.stop();
    await assert.rejects(probeS3(server.sourceUrl(), { secret: server.secret }), fault('Unreachable', /host and port/));
    await server.listen();
  });
});

test('a server with a certificate of its own is trusted with ca.crt, for buckets of everybody too', async () => {
  const { ca, key, cert } = await testCertificates();
  const server = await startBucketServer('versitygw', { tls: { key, cert } });
  try {
    await server.put({ 'a.md': 'a' });
    const url = server.sourceUrl();
    await assert.rejects(probeS3(url, { secret: server.secret }), fault('TLSFailed', /ca\.crt/));
    assert.equal((await lookS3(url, { secret: { ...server.secret, 'ca.crt': ca } })).files.size, 1);
    await server.makePublic();
    assert.equal((await lookS3(url, { secret: { 'ca.crt': ca } })).files.size, 1);
  } finally {
    await server.close();
  }
});

describe('on AWS', () => {
  const domain = 's3.us-east-1.amazonaws.com';
  let server: BucketServerFixture;
  let ca: Buffer;
  let proxy: Server;
  const asked: string[] = [];
  before(async () => {
    const certificates = await testCertificates([`*.${domain}`, domain]);
    ca = certificates.ca;
    server = await startBucketServer('versitygw', { tls: certificates, domain });
    // It stands for the way to AWS: whatever is asked for, the tunnel leads to the server of this test.
    proxy = createServer();
    proxy.on('connect', ({ url }, socket: Socket) => {
      asked.push(url!);
      const onward = connect(server.port, '127.0.0.1', () => {
        socket.write('HTTP/1.1 200 OK\r\n\r\n');
        onward.pipe(socket).pipe(onward);
      });
      for (const end of [onward, socket]) end.on('error', () => {});
    });
    proxy.listen(0, '127.0.0.1');
    await once(proxy, 'listening');
  });
  after(async () => {
    proxy.closeAllConnections();
    proxy.close();
    await server.close();
  });
  const options = (): S3LookOptions => ({
    secret: { ...server.secret, 'ca.crt': ca },
    guard: { proxy: { httpsProxy: `http://127.0.0.1:${(proxy.address() as AddressInfo).port}` } },
  });

  test('s3://BUCKET/PREFIX is read at the bucket in its region, under its own host', async () => {
    await server.put({ 'packs/größe (1)+.md': 'odd', 'packs/b.md': 'b' });
    const found = await lookS3(`s3://${server.bucket}/packs`, options());
    assert.deepEqual(texts(found.files), { 'b.md': 'b', 'größe (1)+.md': 'odd' });
    assert.deepEqual([...new Set(asked)], [`${server.bucket}.${domain}:443`]);
  });

  test('a bucket that is not there is told of by the name of the server and of the bucket', async () => {
    await assert.rejects(
      probeS3('s3://skills-elsewhere', options()),
      fault('NotFound', /^s3\.us-east-1\.amazonaws\.com has no bucket "skills-elsewhere"/),
    );
  });
});
