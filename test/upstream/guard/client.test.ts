// The guarded HTTP client against real servers: redirects, credentials, statuses, silence, connections, sizes.
import assert from 'node:assert/strict';
import type { IncomingMessage } from 'node:http';
import { type AddressInfo, createServer as createTcpServer } from 'node:net';
import { describe, test } from 'node:test';
import { gzipSync } from 'node:zlib';
import { UpstreamFault } from '../../../upstream/fault.ts';
import { GuardedClient, type Refusal } from '../../../upstream/guard/client.ts';
import { fault, get, options, serve } from '../../fixtures/http.ts';

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

describe('signatures', () => {
  test('are made for each address on their own origin, and not for another one', async (t) => {
    const shown: string[] = [];
    const note = (request: IncomingMessage) => shown.push(`${request.url} ${request.headers['x-signed']}`);
    const elsewhere = await serve(t, (request, response) => {
      note(request);
      response.end();
    });
    const origin = await serve(t, (request, response) => {
      note(request);
      response.writeHead(307, { location: request.url === '/a' ? '/b' : `${elsewhere}/c` }).end();
    });
    const sign = async (method: string, url: URL) => ({ 'x-signed': `${method} ${url.pathname}` });
    await get(`${origin}/a`, { credential: { origin, sign } });
    assert.deepEqual(shown, ['/a GET /a', '/b GET /b', '/c undefined']);
  });
});

describe('what is explained', () => {
  test('is an answer that is no success, unpacked: the fault is thrown, and without one all goes on as usual', async (t) => {
    const origin = await serve(t, (_, response) =>
      response.writeHead(400, { 'content-encoding': 'gzip', 'x-why': 'so' }).end(gzipSync('canary')),
    );
    const seen: unknown[] = [];
    const explain = ({ status, headers, body }: Refusal) => {
      seen.push([status, headers['x-why'], body.toString()]);
      return new UpstreamFault('RateLimited', 'explained');
    };
    await assert.rejects(get(`${origin}/`, { explain }), fault('RateLimited', /^explained$/));
    assert.deepEqual(seen, [[400, 'so', 'canary']]);
    await assert.rejects(get(`${origin}/`, { explain: () => undefined }), fault('UpstreamInvalid', /HTTP 400/));
  });

  test('is no more than the first 64 KiB, and what can be read of a damaged answer', async (t) => {
    const origin = await serve(t, (request, response) => {
      if (request.url === '/long') response.writeHead(500).end('x'.repeat(1_000_000));
      else response.writeHead(500, { 'content-encoding': 'gzip' }).end('canary');
    });
    const lengths: number[] = [];
    const explain = ({ body }: Refusal) => void lengths.push(body.length);
    await assert.rejects(get(`${origin}/long`, { explain }), fault('UpstreamInvalid'));
    await assert.rejects(get(`${origin}/damaged`, { explain }), fault('UpstreamInvalid'));
    assert(lengths[0]! <= 65_536);
    assert.equal(lengths[1], 0);
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

test('a request that was given up before it is sent rejects with the reason, and nothing is left unhandled', async (t) => {
  const origin = await serve(t, (_, response) => response.end('late'));
  const late = new Error('given up');
  const unhandled: unknown[] = [];
  const note = (error: unknown) => void unhandled.push(error);
  process.on('unhandledRejection', note);
  t.after(() => process.off('unhandledRejection', note));
  await assert.rejects(get(`${origin}/`, { signal: AbortSignal.abort(late) }), late);
  await new Promise((resolve) => setImmediate(resolve));
  assert.deepEqual(unhandled, []);
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
    await assert.rejects(
      get(`http://127.0.0.1:${port}/`),
      fault('Unreachable', /refuses connections; check .*spec\.url/),
    );
  });

  test('a name that does not resolve is Unreachable', async () => {
    await assert.rejects(
      get('http://nowhere.invalid/'),
      fault('Unreachable', /nowhere\.invalid .*resolve.*; check .*spec\.url/),
    );
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

  test('an answer that is wanted as it is stored stays packed', async (t) => {
    const packed = gzipSync('hello');
    const origin = await serve(t, (_, response) => response.writeHead(200, { 'content-encoding': 'gzip' }).end(packed));
    assert.equal((await get(`${origin}/`, { stored: true })).body, packed.toString());
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
