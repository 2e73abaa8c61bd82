// The guarded HTTP client over TLS and behind proxies.
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer, type RequestListener, type Server } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import { type AddressInfo, connect, createServer as createTcpServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, type TestContext, test } from 'node:test';
import { promisify } from 'node:util';
import { GuardedClient } from '../../../upstream/guard/client.ts';
import { type TestCertificates, testCertificates } from '../../fixtures/certificates.ts';
import { fault, get, listen, options, serve } from '../../fixtures/http.ts';

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
