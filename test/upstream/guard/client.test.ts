// The guarded HTTP client against real servers: redirects, credentials, silence, sizes, certificates, proxies.
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer, type IncomingMessage, type RequestListener, type Server } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import { type AddressInfo, connect, createServer as createTcpServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, type TestContext, test } from 'node:test';
import { promisify } from 'node:util';
import { gzipSync } from 'node:zlib';
import { UpstreamFault } from '../../../upstream/fault.ts';
import { GuardedClient, type GuardedRequest, type GuardOptions } from '../../../upstream/guard/client.ts';
import { type TestCertificates, testCertificates } from '../../fixtures/certificates.ts';

const options: GuardOptions = { allowLoopback: true, deniedCidrs: [], connectTimeout: 2000, idleTimeout: 300 };

async function listen(t: TestContext, server: Server): Promise<number> {
  server.listen(0, '127.0.0.1');
  await new Promise((resolve) => server.once('listening', resolve));
  t.after(async () => {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  });
  return (server.address() as AddressInfo).port;
}

const serve = async (t: TestContext, listener: RequestListener): Promise<string> =>
  `http://127.0.0.1:${await listen(t, createServer(listener))}`;

async function get(url: string, more: Partial<GuardedRequest> & { guard?: Partial<GuardOptions>; ca?: Buffer } = {}) {
  const { guard, ca, ...request } = more;
  const client = new GuardedClient({ ...options, ...guard }, ca);
  try {
    const response = await client.request({
      method: 'GET',
      url: new URL(url),
      maxBytes: 10_000,
      signal: new AbortController().signal,
      ...request,
    });
    const chunks: Buffer[] = [];
    for await (const chunk of response.body) chunks.push(chunk);
    return { url: response.url.href, body: Buffer.concat(chunks).toString() };
  } finally {
    await client.close();
  }
}

/** A fault with this reason, whose message matches and quotes nothing that the servers of these tests send. */
const fault =
  (reason: string, message = /./) =>
  (error: unknown) => {
    assert(error instanceof UpstreamFault, String(error));
    assert.equal(error.reason, reason, error.message);
    assert.match(error.message, message);
    assert.doesNotMatch(error.message, /canary/i);
    return true;
  };

test('an answer comes back whole, with the address it came from', async (t) => {
  const origin = await serve(t, (_, response) => response.end('hello'));
  assert.deepEqual(await get(`${origin}/a?b=c`), { url: `${origin}/a?b=c`, body: 'hello' });
});

describe('redirects', () => {
  test('five are followed, a sixth is not', async (t) => {
    const origin = await serve(t, (request, response) => {
      const left = Number(request.url?.slice(1));
      if (left === 0) response.end('there');
      else response.writeHead(302, { location: `/${left - 1}` }).end('canary');
    });
    assert.equal((await get(`${origin}/5`)).body, 'there');
    await assert.rejects(get(`${origin}/6`), fault('UpstreamInvalid', /more than 5 times/));
  });

  test('one to a link-local address is refused, and the address is not repeated', async (t) => {
    const origin = await serve(t, (_, response) =>
      response.writeHead(302, { location: 'http://169.254.169.254/canary' }).end(),
    );
    await assert.rejects(get(`${origin}/`), (error) => {
      fault('AddressNotAllowed', /redirects to/)(error);
      assert.doesNotMatch((error as Error).message, /169\.254/);
      return true;
    });
  });

  test('one to a closed name is refused where the name is resolved, and the name is not repeated', async (t) => {
    const origin = await serve(t, (_, response) => response.writeHead(302, { location: 'http://localhost:9/' }).end());
    const apiServer = { addresses: ['127.0.0.1', '::1'], port: 9 };
    await assert.rejects(get(`${origin}/`, { guard: { apiServer } }), (error) => {
      fault('AddressNotAllowed', /resolves to the API server/)(error);
      assert.doesNotMatch((error as Error).message, /localhost/);
      return true;
    });
  });

  test('one that is no web address is refused', async (t) => {
    const origin = await serve(t, (_, response) => response.writeHead(302, { location: 'file:///canary' }).end());
    await assert.rejects(get(`${origin}/`), fault('UpstreamInvalid', /no web address/));
  });

  test('a POST goes on where its method is kept (307, 308) and nowhere else', async (t) => {
    const seen: string[] = [];
    const origin = await serve(t, (request, response) => {
      seen.push(`${request.method} ${request.url}`);
      const status = Number(request.url?.slice(1));
      if (status > 0) response.writeHead(status, { location: '/0' }).end();
      else request.pipe(response);
    });
    const body = Buffer.from('asked');
    assert.equal((await get(`${origin}/307`, { method: 'POST', body })).body, 'asked');
    assert.deepEqual(seen, ['POST /307', 'POST /0']);
    await assert.rejects(get(`${origin}/301`, { method: 'POST', body }), fault('UpstreamInvalid', /redirects a POST/));
  });
});

describe('credentials', () => {
  const header = 'Bearer s3cret';

  test('go to their own origin, through its redirects', async (t) => {
    const seen: (string | undefined)[] = [];
    const origin = await serve(t, (request, response) => {
      seen.push(request.headers.authorization);
      if (request.url === '/a') response.writeHead(302, { location: '/b' }).end();
      else response.end();
    });
    await get(`${origin}/a`, { credential: { header, origin } });
    assert.deepEqual(seen, [header, header]);
  });

  test('go to no other port of the same host, and not back either', async (t) => {
    const seen: [string, string | undefined][] = [];
    const record = (who: string, request: IncomingMessage) => seen.push([who, request.headers.authorization]);
    const other = await serve(t, (request, response) => {
      record('other', request);
      response.writeHead(302, { location: `${origin}/back` }).end();
    });
    const origin = await serve(t, (request, response) => {
      record('own', request);
      if (request.url === '/back') response.end();
      else response.writeHead(302, { location: `${other}/` }).end();
    });
    await get(`${origin}/`, { credential: { header, origin } });
    assert.deepEqual(seen, [
      ['own', header],
      ['other', undefined],
      ['own', undefined],
    ]);
  });

  test('in an address that a redirect gives are not sent on', async (t) => {
    const seen: (string | undefined)[] = [];
    const origin = await serve(t, (request, response) => {
      seen.push(request.headers.authorization);
      if (request.url === '/b') response.end();
      else response.writeHead(302, { location: `http://u:p@${request.headers.host}/b` }).end();
    });
    assert.equal((await get(`${origin}/a`)).url, `${origin}/b`);
    assert.deepEqual(seen, [undefined, undefined]);
  });
});

describe('statuses', () => {
  const cases: [status: number, headers: Record<string, string>, reason: string, seconds?: number][] = [
    [401, {}, 'AuthenticationFailed'],
    [403, {}, 'AccessDenied'],
    [403, { 'retry-after': '60' }, 'RateLimited', 60],
    [404, {}, 'NotFound'],
    [410, {}, 'NotFound'],
    [429, {}, 'RateLimited'],
    [429, { 'retry-after': '17' }, 'RateLimited', 17],
    [429, { 'retry-after': '99999999' }, 'RateLimited', 86_400],
    [429, { 'retry-after': 'Thu, 01 Jan 1970 00:00:00 GMT' }, 'RateLimited', 0],
    [500, {}, 'UpstreamInvalid'],
    [503, {}, 'UpstreamInvalid'],
    [503, { 'retry-after': '5' }, 'RateLimited', 5],
    [418, {}, 'UpstreamInvalid'],
    [304, {}, 'UpstreamInvalid'],
  ];
  for (const [status, headers, reason, seconds] of cases) {
    test(`${status} ${JSON.stringify(headers)} is ${reason}`, async (t) => {
      const origin = await serve(t, (_, response) => response.writeHead(status, headers).end('canary'));
      await assert.rejects(get(`${origin}/canary?canary=1`), (error) => {
        fault(reason, new RegExp(`${status}`))(error);
        assert.match((error as Error).message, new RegExp(new URL(origin).host));
        assert.equal((error as UpstreamFault).retryAfterSeconds, seconds);
        return true;
      });
    });
  }
});

describe('time', () => {
  test('a server that accepts and stays silent times out', async (t) => {
    const origin = await serve(t, () => {});
    await assert.rejects(get(`${origin}/`), fault('TimedOut', /did not answer in time/));
  });

  test('a server that stops in the middle of a body times out', async (t) => {
    const origin = await serve(t, (_, response) => void response.writeHead(200).write('canary'));
    await assert.rejects(get(`${origin}/`), fault('TimedOut', /stopped sending/));
  });

  test('a server that accepts and never begins TLS times out', async (t) => {
    const sockets: { destroy(): void }[] = [];
    const server = createTcpServer((socket) => void sockets.push(socket));
    server.listen(0, '127.0.0.1');
    await new Promise((resolve) => server.once('listening', resolve));
    t.after(() => {
      for (const socket of sockets) socket.destroy();
      server.close();
    });
    const { port } = server.address() as AddressInfo;
    await assert.rejects(get(`https://127.0.0.1:${port}/`, { guard: { connectTimeout: 200 } }), fault('TimedOut'));
  });

  test('the signal ends a request with its own reason, before an answer and within one', async (t) => {
    const origin = await serve(t, (request, response) => {
      if (request.url === '/begun') response.writeHead(200).write('canary');
    });
    for (const path of ['/silent', '/begun']) {
      const late = new UpstreamFault('TimedOut', 'the look took longer than spec.timeout');
      const controller = new AbortController();
      const answer = get(`${origin}${path}`, { signal: controller.signal, guard: { idleTimeout: 60_000 } });
      setTimeout(() => controller.abort(late), 50);
      await assert.rejects(answer, (error) => error === late);
    }
  });

  test('the signal ends a request whose connection is still being made, and the connection with it', async (t) => {
    const closed = Promise.withResolvers<void>();
    const server = createTcpServer(
      (socket) =>
        void socket
          .on('error', () => {})
          .on('close', closed.resolve)
          .resume(),
    );
    server.listen(0, '127.0.0.1');
    await new Promise((resolve) => server.once('listening', resolve));
    t.after(() => server.close());
    const { port } = server.address() as AddressInfo;
    const late = new UpstreamFault('TimedOut', 'the look took longer than spec.timeout');
    const began = performance.now();
    await assert.rejects(
      get(`https://127.0.0.1:${port}/`, { signal: abortedIn(50, late), guard: { connectTimeout: 5000 } }),
      (error) => error === late,
    );
    await closed.promise;
    assert(performance.now() - began < 3000);
  });
});

function abortedIn(milliseconds: number, reason: Error): AbortSignal {
  const controller = new AbortController();
  setTimeout(() => controller.abort(reason), milliseconds);
  return controller.signal;
}

describe('connections', () => {
  test('a port where nobody listens is Unreachable', async () => {
    const server = createTcpServer();
    server.listen(0, '127.0.0.1');
    await new Promise((resolve) => server.once('listening', resolve));
    const { port } = server.address() as AddressInfo;
    await new Promise((resolve) => server.close(resolve));
    await assert.rejects(get(`http://127.0.0.1:${port}/`), fault('Unreachable', /refuses connections/));
  });

  test('a name that does not resolve is Unreachable', async () => {
    await assert.rejects(get('http://nowhere.invalid/'), fault('Unreachable', /nowhere\.invalid .*resolve/));
  });

  test('a loopback address is refused, as a literal and as a name', async (t) => {
    const origin = await serve(t, (_, response) => response.end('canary'));
    const guard = { allowLoopback: false };
    await assert.rejects(get(`${origin}/`, { guard }), fault('AddressNotAllowed', /is a loopback address/));
    const named = origin.replace('127.0.0.1', 'localhost');
    await assert.rejects(get(`${named}/`, { guard }), fault('AddressNotAllowed', /localhost.* resolves to a loopback/));
  });

  test('the API server is refused by its address, when it is itself known by a name', async (t) => {
    const origin = await serve(t, (_, response) => response.end('canary'));
    const apiServer = { addresses: ['localhost'], port: Number(new URL(origin).port) };
    await assert.rejects(get(`${origin}/`, { guard: { apiServer } }), fault('AddressNotAllowed', /is the API server/));
  });

  test('a connection that was closed between two requests is made again', async (t) => {
    let requests = 0;
    const origin = await serve(t, (request, response) => {
      if (++requests === 2) request.socket.destroy();
      else response.end('hello');
    });
    const client = new GuardedClient(options);
    t.after(() => client.close());
    for (let time = 0; time < 2; time++) {
      const request = { url: new URL(origin), maxBytes: 100, signal: new AbortController().signal };
      const { body } = await client.request({ method: 'GET', ...request });
      for await (const chunk of body) assert.equal(chunk.toString(), 'hello');
    }
    assert.equal(requests, 3);
  });

  test('a server that closes every time is Unreachable', async (t) => {
    const origin = await serve(t, (request) => void request.socket.destroy());
    await assert.rejects(get(`${origin}/`), fault('Unreachable', /closed the connection/));
  });

  test('a server that does not speak HTTP is UpstreamInvalid', async (t) => {
    const server = createTcpServer((socket) => {
      socket.on('error', () => {});
      socket.end('SSH-2.0-canary\r\n');
    });
    server.listen(0, '127.0.0.1');
    await new Promise((resolve) => server.once('listening', resolve));
    t.after(() => server.close());
    const { port } = server.address() as AddressInfo;
    await assert.rejects(get(`http://127.0.0.1:${port}/`), fault('UpstreamInvalid', /no HTTP/));
  });
});

describe('sizes', () => {
  test('an answer over the cap ends as LimitExceeded, and what arrived is counted', async (t) => {
    const origin = await serve(t, (_, response) => response.end('x'.repeat(2000)));
    let received = 0;
    const count = (bytes: number) => {
      received += bytes;
    };
    await assert.rejects(get(`${origin}/`, { maxBytes: 1000, received: count }), fault('LimitExceeded', /1000 bytes/));
    assert.equal(received, 2000);
  });

  test('a packed answer is unpacked, and counted as it came', async (t) => {
    const packed = gzipSync('x'.repeat(9000));
    const origin = await serve(t, (_, response) => response.writeHead(200, { 'content-encoding': 'gzip' }).end(packed));
    let received = 0;
    const count = (bytes: number) => {
      received += bytes;
    };
    const { body } = await get(`${origin}/`, { received: count });
    assert.equal(body, 'x'.repeat(9000));
    assert.equal(received, packed.length);
  });

  test('a packed answer that unfolds over the cap ends as LimitExceeded', async (t) => {
    const packed = gzipSync(Buffer.alloc(50_000_000));
    const origin = await serve(t, (_, response) => response.writeHead(200, { 'content-encoding': 'gzip' }).end(packed));
    await assert.rejects(get(`${origin}/`, { maxBytes: 100_000 }), fault('LimitExceeded', /100000 bytes/));
  });

  test('a packed answer that is damaged or packed otherwise is UpstreamInvalid', async (t) => {
    const origin = await serve(t, (request, response) =>
      response.writeHead(200, { 'content-encoding': request.url!.slice(1) }).end('canary canary'),
    );
    await assert.rejects(get(`${origin}/gzip`), fault('UpstreamInvalid'));
    await assert.rejects(get(`${origin}/br`), fault('UpstreamInvalid', /packs its answer/));
  });

  test('an answer shorter than it says is UpstreamInvalid', async (t) => {
    const origin = await serve(t, (_, response) => {
      response.writeHead(200, { 'content-length': '100' }).write('canary', () => response.destroy());
    });
    await assert.rejects(get(`${origin}/`), fault('UpstreamInvalid', /broke off/));
  });
});

describe('certificates', () => {
  let made: TestCertificates;
  before(async () => {
    made = await testCertificates();
  });
  const serveTls = async (t: TestContext, listener: RequestListener): Promise<string> => {
    const server = createTlsServer({ key: made.key, cert: made.cert }, listener) as unknown as Server;
    return `https://127.0.0.1:${await listen(t, server)}`;
  };

  test('one that nobody knows is TLSFailed and says where to put its authority', async (t) => {
    const origin = await serveTls(t, (_, response) => response.end());
    await assert.rejects(get(`${origin}/`), fault('TLSFailed', /ca\.crt/));
  });

  test("one of the look's or of the installation's authority is trusted", async (t) => {
    const origin = await serveTls(t, (_, response) => response.end('hello'));
    assert.equal((await get(`${origin}/`, { ca: made.ca })).body, 'hello');
    assert.equal((await get(`${origin}/`, { guard: { extraCa: made.ca } })).body, 'hello');
  });

  test('a look with an authority of its own keeps those of the installation', async (t) => {
    const origin = await serveTls(t, (_, response) => response.end('hello'));
    const client = new GuardedClient({ ...options, extraCa: made.ca }).withCa((await testCertificates()).ca);
    t.after(() => client.close());
    const request = { url: new URL(origin), maxBytes: 10, signal: new AbortController().signal };
    assert.equal((await client.request({ method: 'GET', ...request })).status, 200);
  });

  test("a look with an authority of its own keeps the system's", async (t) => {
    const origin = await serveTls(t, (_, response) => response.end('hello'));
    const folder = await mkdtemp(join(tmpdir(), 'lyceum-ca-'));
    t.after(() => rm(folder, { recursive: true, force: true }));
    await writeFile(join(folder, 'system.pem'), made.ca);
    await writeFile(join(folder, 'own.pem'), (await testCertificates()).ca);
    const program = `
      import { readFileSync } from 'node:fs';
      import { GuardedClient } from ${JSON.stringify(import.meta.resolve('../../../upstream/guard/client.ts'))};
      const client = new GuardedClient({ allowLoopback: true, deniedCidrs: [] }, readFileSync('own.pem'));
      const request = { method: 'GET', maxBytes: 10, signal: new AbortController().signal };
      const response = await client.request({ ...request, url: new URL(${JSON.stringify(origin)}) });
      console.log(response.status);
      await client.close();`;
    const { stdout } = await promisify(execFile)(process.execPath, ['--input-type=module', '-e', program], {
      cwd: folder,
      env: { NODE_EXTRA_CA_CERTS: join(folder, 'system.pem') },
    });
    assert.equal(stdout, '200\n');
  });

  test('one for another name is TLSFailed', async (t) => {
    const origin = await serveTls(t, (_, response) => response.end());
    const elsewhere = origin.replace('127.0.0.1', '127.0.0.2');
    const server = createTcpServer((socket) => {
      const inner = connect(Number(new URL(origin).port), '127.0.0.1');
      socket
        .on('error', () => inner.destroy())
        .pipe(inner)
        .on('error', () => socket.destroy())
        .pipe(socket);
    });
    server.listen(0, '127.0.0.2');
    await new Promise((resolve) => server.once('listening', resolve));
    t.after(() => server.close());
    const { port } = server.address() as AddressInfo;
    await assert.rejects(get(elsewhere.replace(/\d+$/, `${port}`), { ca: made.ca }), fault('TLSFailed', /ALTNAME/));
  });

  test('TLS to a server without it is TLSFailed', async (t) => {
    const origin = await serve(t, (_, response) => response.end('canary'));
    await assert.rejects(get(origin.replace('http:', 'https:')), fault('TLSFailed'));
  });

  test('a ca.crt without a certificate is TLSFailed and says so', () => {
    for (const pem of ['canary', '-----BEGIN CERTIFICATE-----\ncanary\n-----END CERTIFICATE-----\n']) {
      assert.throws(
        () => new GuardedClient(options, Buffer.from(pem)),
        fault('TLSFailed', /ca\.crt holds no certificate/),
      );
    }
  });

  test('a redirect from https to http is not followed', async (t) => {
    const plain = await serve(t, (_, response) => response.end('canary'));
    const origin = await serveTls(t, (_, response) => response.writeHead(301, { location: plain }).end());
    await assert.rejects(get(`${origin}/`, { ca: made.ca }), fault('UpstreamInvalid', /https to http/));
  });
});

describe('behind a proxy', () => {
  let made: TestCertificates;
  before(async () => {
    made = await testCertificates();
  });

  /** A proxy that leads every name to one server, as a proxy that resolves names itself may. */
  async function proxyTo(t: TestContext, port: number) {
    const asked: string[] = [];
    const server = createServer((request, response) => {
      asked.push(`${request.method} ${request.url}`);
      response.end('by proxy');
    });
    server.on('connect', (request, socket) => {
      asked.push(`CONNECT ${request.url}`);
      const inner = connect(port, '127.0.0.1', () => socket.write('HTTP/1.1 200 OK\r\n\r\n'));
      socket.on('error', () => inner.destroy());
      inner.on('error', () => socket.destroy());
      socket.pipe(inner).pipe(socket);
      t.after(() => socket.destroy());
    });
    return { asked, url: `http://127.0.0.1:${await listen(t, server)}` };
  }

  test('names go to the proxy unresolved, over http and https', async (t) => {
    const inner = createTlsServer({ key: made.key, cert: made.cert }, (_, response) => response.end('tunnelled'));
    const { asked, url } = await proxyTo(t, await listen(t, inner as unknown as Server));
    const guard = { allowLoopback: false, proxy: { httpsProxy: url, httpProxy: url } };
    assert.equal((await get('http://nowhere.invalid/x', { guard })).body, 'by proxy');
    await assert.rejects(get('https://nowhere.invalid/x', { guard, ca: made.ca }), fault('TLSFailed', /ALTNAME/));
    assert.deepEqual(asked, ['GET http://nowhere.invalid/x', 'CONNECT nowhere.invalid:443']);
  });

  test('literal addresses are still checked', async (t) => {
    const { asked, url } = await proxyTo(t, 9);
    const guard = { allowLoopback: false, proxy: { httpsProxy: url, httpProxy: url } };
    await assert.rejects(get('https://169.254.169.254/', { guard }), fault('AddressNotAllowed'));
    await assert.rejects(get('http://[::ffff:127.0.0.1]/', { guard }), fault('AddressNotAllowed'));
    assert.deepEqual(asked, []);
  });

  test('what NO_PROXY names is asked directly, and checked', async (t) => {
    const origin = await serve(t, (_, response) => response.end('direct'));
    const { asked, url } = await proxyTo(t, 9);
    const proxy = { httpProxy: url, httpsProxy: url, noProxy: 'localhost,127.0.0.1' };
    assert.equal((await get(`${origin}/`, { guard: { proxy } })).body, 'direct');
    const named = origin.replace('127.0.0.1', 'localhost');
    await assert.rejects(
      get(named, { guard: { proxy, allowLoopback: false } }),
      fault('AddressNotAllowed', /resolves/),
    );
    assert.deepEqual(asked, []);
  });

  test('a proxy that refuses or is away is Unreachable', async (t) => {
    const proxy = createServer();
    proxy.on('connect', (_, socket) => socket.end('HTTP/1.1 403 canary\r\n\r\n'));
    const url = `http://127.0.0.1:${await listen(t, proxy)}`;
    await assert.rejects(
      get('https://example.org/', { guard: { proxy: { httpsProxy: url } } }),
      fault('Unreachable', /proxy/),
    );
    const nobody = { httpsProxy: 'http://127.0.0.1:9' };
    await assert.rejects(get('https://example.org/', { guard: { proxy: nobody } }), fault('Unreachable'));
  });

  test('the environment is not read', async (t) => {
    const origin = await serve(t, (_, response) => response.end('direct'));
    process.env.HTTP_PROXY = 'http://127.0.0.1:9';
    after(() => delete process.env.HTTP_PROXY);
    assert.equal((await get(`${origin}/`)).body, 'direct');
  });
});
