import assert from 'node:assert/strict';
import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createSecureServer, type Http2SecureServer, type ServerHttp2Session } from 'node:http2';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { CoreV1Api, KubeConfig } from '@kubernetes/client-node';
import { Connection, type ConnectionOptions } from '../../operator/kubernetes/connection.ts';
import { loadKubeConfig } from '../../operator/kubernetes/credentials.ts';
import { AnswerTooLarge, errorOfAnswer, KubernetesError } from '../../operator/kubernetes/kubernetes-error.ts';
import { type Certificate, certificate } from './certificates.ts';
import { FakeApiServer, failing, json, silent } from './fake-api-server.ts';
import { FakeClock } from './fake-clock.ts';
import { until } from './until.ts';

async function folder(context: TestContext): Promise<string> {
  const path = await mkdtemp(join(tmpdir(), 'lyceum-connection-'));
  context.after(() => rm(path, { recursive: true, force: true }));
  return path;
}

async function fake(context: TestContext): Promise<FakeApiServer> {
  const server = await FakeApiServer.start();
  context.after(() => server[Symbol.asyncDispose]());
  return server;
}

function connect(
  context: TestContext,
  options: Partial<ConnectionOptions> & Pick<ConnectionOptions, 'load'>,
): Connection {
  const connection = new Connection({ connections: 8, requested() {}, ...options });
  context.after(() => connection.close());
  return connection;
}

/** A TLS server that speaks HTTP/2, as the API server does, and answers every GET with a ConfigMap. */
class TlsServer {
  readonly sessions = new Set<ServerHttp2Session>();
  sessionCount = 0;
  readonly #server: Http2SecureServer;

  constructor({ key, cert }: Certificate) {
    this.#server = createSecureServer({ key, cert }, (_, response) =>
      json(200, { metadata: { name: 'c', namespace: 'flow' } })(response as never),
    );
    this.#server.on('session', (session) => {
      this.sessionCount++;
      this.sessions.add(session);
      session.on('close', () => this.sessions.delete(session));
      session.on('error', () => {});
    });
  }

  async listen(port = 0): Promise<number> {
    this.#server.listen(port, '127.0.0.1');
    await once(this.#server, 'listening');
    return (this.#server.address() as AddressInfo).port;
  }

  async close(): Promise<void> {
    if (!this.#server.listening) return;
    this.#server.close();
    for (const session of this.sessions) session.destroy();
    await once(this.#server, 'close');
  }
}

const kindOf = async (call: Promise<unknown>): Promise<string> => {
  const error = await call.then(
    () => assert.fail('no error'),
    (reason: unknown) => reason,
  );
  assert.ok(error instanceof KubernetesError, String(error));
  return error.kind;
};

test('200 calls, one after another and 50 at once, share a few connections', async (t) => {
  const path = await folder(t);
  const identity = await certificate(path, 'first');
  const server = new TlsServer(identity);
  const port = await server.listen();
  t.after(() => server.close());
  const load = (): KubeConfig => {
    const config = new KubeConfig();
    config.loadFromClusterAndUser(
      {
        name: 'c',
        server: `https://127.0.0.1:${port}`,
        caData: identity.cert.toString('base64'),
        skipTLSVerify: false,
      },
      { name: 'u', token: 'token' },
    );
    return config;
  };
  const core = new CoreV1Api(connect(t, { load }).configuration);
  const read = (): Promise<unknown> => core.readNamespacedConfigMap({ namespace: 'flow', name: 'c' });
  for (let call = 0; call < 150; call++) await read();
  await Promise.all(Array.from({ length: 50 }, read));
  assert.ok(server.sessionCount <= 8, `${server.sessionCount} connections`);
});

test('over HTTP/1.1 there are never more connections than allowed', async (t) => {
  const server = await fake(t);
  server.other = json(200, {});
  const core = new CoreV1Api(connect(t, { load: () => server.kubeConfig(), connections: 3 }).configuration);
  await Promise.all(Array.from({ length: 30 }, () => core.readNamespacedSecret({ namespace: 'flow', name: 's' })));
  assert.equal(server.connections, 3);
});

test('a certificate authority that is exchanged is taken up without a restart', async (t) => {
  const path = await folder(t);
  const [first, second] = [await certificate(path, 'first'), await certificate(path, 'second')];
  const caFile = join(path, 'ca.crt');
  await writeFile(caFile, first.cert);
  const before = new TlsServer(first);
  const port = await before.listen();
  t.after(() => before.close());
  const load = (): KubeConfig => {
    const config = new KubeConfig();
    config.loadFromClusterAndUser(
      { name: 'c', server: `https://127.0.0.1:${port}`, caFile, skipTLSVerify: false },
      { name: 'u', token: 'token' },
    );
    return config;
  };
  const core = new CoreV1Api(connect(t, { load }).configuration);
  const read = (): Promise<unknown> => core.readNamespacedConfigMap({ namespace: 'flow', name: 'c' });
  await read();
  await before.close();
  const after = new TlsServer(second);
  await after.listen(port);
  t.after(() => after.close());
  assert.equal(await kindOf(read()), 'network', 'another authority is not trusted');
  assert.equal(after.sessionCount, 0);
  await writeFile(caFile, second.cert);
  await read();
  assert.equal(after.sessionCount, 1);
});

test('a token file is read again after a minute, and not before', async (t) => {
  const path = await folder(t);
  const tokenFile = join(path, 'token');
  const server = await fake(t);
  server.other = json(200, { metadata: {} });
  const clock = new FakeClock();
  const load = (): KubeConfig => server.kubeConfig({ authProvider: { name: 'tokenFile', config: { tokenFile } } });
  await writeFile(tokenFile, 'one\n');
  const core = new CoreV1Api(connect(t, { load, clock }).configuration);
  const tokenOfNextCall = async (): Promise<string | undefined> => {
    await core.readNamespacedSecret({ namespace: 'flow', name: 's' });
    return server.requests.at(-1)?.headers.authorization;
  };
  assert.equal(await tokenOfNextCall(), 'Bearer one');
  await writeFile(tokenFile, 'two');
  clock.advance(59_000);
  assert.equal(await tokenOfNextCall(), 'Bearer one');
  clock.advance(1_000);
  assert.equal(await tokenOfNextCall(), 'Bearer two');
  await rm(tokenFile);
  clock.advance(60_000);
  assert.equal(await tokenOfNextCall(), 'Bearer two', 'a file that is gone for a moment does no harm');
});

test('each status is an error of its kind, with nothing of body or headers in its message', async (t) => {
  const server = await fake(t);
  const core = new CoreV1Api(connect(t, { load: () => server.kubeConfig() }).configuration);
  for (const [code, kind] of [
    [307, 'server'],
    [400, 'invalid'],
    [401, 'unauthorized'],
    [403, 'forbidden'],
    [404, 'notFound'],
    [409, 'conflict'],
    [410, 'gone'],
    [422, 'invalid'],
    [429, 'tooMany'],
    [500, 'server'],
    [503, 'server'],
  ] as const) {
    server.other = failing(code, {
      'retry-after': '3',
      location: 'http://169.254.169.254/',
      'x-secret': 'in-a-header',
    });
    const error: unknown = await core.readNamespacedSecret({ namespace: 'flow', name: 's' }).catch((reason) => reason);
    assert.ok(error instanceof KubernetesError);
    assert.deepEqual([error.kind, error.status, error.retryAfterSeconds], [kind, code, 3]);
    assert.match(error.message, new RegExp(`^GET /api/v1/namespaces/flow/secrets/s: .* ${code} \\(Because`));
    assert.doesNotMatch(error.message, /spelled-out-secret|in-a-header|secret-token/);
  }
});

test('fields that the API server refuses are named, their values are not', () => {
  const error = errorOfAnswer('PATCH /apis/x', 422, undefined, {
    reason: 'Invalid',
    message: 'Invalid value: "s3cret"',
    details: {
      causes: [
        { field: 'status.revision', message: 'Invalid value: "s3cret"' },
        { field: 'spec["s3cret"]' },
        { field: 7 },
      ],
    },
  });
  assert.equal(error.message, 'PATCH /apis/x: the API server answered 422 (Invalid; fields: status.revision)');
});

test('a server that is not there, breaks off or keeps silent is a network error', async (t) => {
  const server = await fake(t);
  const connection = connect(t, { load: () => server.kubeConfig(), callMilliseconds: 50 });
  const core = new CoreV1Api(connection.configuration);
  const read = (): Promise<unknown> => core.readNamespacedSecret({ namespace: 'flow', name: 's' });
  server.other = (response) => void response.destroy();
  assert.equal(await kindOf(read()), 'network');
  server.other = (response) => {
    response.writeHead(200, { 'content-length': '100' }).write('{');
    setImmediate(() => response.destroy());
  };
  assert.equal(await kindOf(read()), 'network');
  server.other = silent;
  assert.equal(await kindOf(read()), 'network');
  await server[Symbol.asyncDispose]();
  await assert.rejects(read(), /no answer from the API server at 127\.0\.0\.1:\d+ \(ECONNREFUSED\)/);
});

test('an answer that never ends is not read to its end', async (t) => {
  const server = await fake(t);
  const connection = connect(t, { load: () => server.kubeConfig() });
  server.other = (response) => {
    const more = (): void => {
      while (!response.destroyed && response.write(Buffer.alloc(65_536)));
      if (!response.destroyed) response.once('drain', more);
    };
    response.writeHead(200);
    more();
  };
  const core = new CoreV1Api(connection.configuration);
  await assert.rejects(core.readNamespacedSecret({ namespace: 'flow', name: 's' }), AnswerTooLarge);
});

test('every request is counted by method, code and host', async (t) => {
  const server = await fake(t);
  const counted: string[][] = [];
  const load = (): KubeConfig => server.kubeConfig();
  const connection = connect(t, { load, requested: (...request) => void counted.push(request) });
  const core = new CoreV1Api(connection.configuration);
  const read = (): Promise<unknown> => core.readNamespacedSecret({ namespace: 'flow', name: 's' });
  server.other = json(200, {});
  await read();
  server.other = failing(404);
  await kindOf(read());
  server.other = (response) => void response.destroy();
  await kindOf(read());
  const host = new URL(server.url).host;
  assert.deepEqual(counted, [
    ['GET', '200', host],
    ['GET', '404', host],
    ['GET', '<error>', host],
  ]);
});

test('a configuration that Lyceum cannot use is refused with the remedy', async (t) => {
  const made =
    (cluster: Record<string, unknown>): (() => KubeConfig) =>
    () => {
      const config = new KubeConfig();
      config.loadFromClusterAndUser({ name: 'c', skipTLSVerify: false, ...cluster } as never, {
        name: 'u',
        token: 't',
      });
      return config;
    };
  const refused = (load: () => KubeConfig, message: RegExp): void => {
    assert.throws(
      () => new Connection({ load, connections: 1, requested() {} }),
      (error: unknown) =>
        error instanceof KubernetesError && error.kind === 'unauthorized' && message.test(error.message),
    );
  };
  refused(made({ server: 'https://10.0.0.1', proxyUrl: 'http://proxy:3128' }), /remove proxy-url/);
  refused(made({ server: 'http://10.0.0.1' }), /insecure-skip-tls-verify: true/);
  refused(made({ server: 'nowhere' }), /no cluster with a valid server address/);
  const path = await folder(t);
  refused(() => loadKubeConfig(join(path, 'missing')), /ENOENT/);
  await writeFile(join(path, 'broken'), 'password: s3cret\n  nonsense: [');
  refused(() => loadKubeConfig(join(path, 'broken')), /^(?!.*s3cret).*cannot be read$/);
});

test('a proxy in the environment is never used for the API server', async (t) => {
  const server = await fake(t);
  server.other = json(200, {});
  const before = { ...process.env };
  t.after(() => {
    process.env = before;
  });
  for (const name of ['HTTP_PROXY', 'HTTPS_PROXY', 'http_proxy', 'https_proxy'])
    process.env[name] = 'http://127.0.0.1:1';
  const core = new CoreV1Api(connect(t, { load: () => server.kubeConfig() }).configuration);
  await core.readNamespacedSecret({ namespace: 'flow', name: 's' });
});

test('a closed connection ends what is under way and asks nothing any more', async (t) => {
  const server = await fake(t);
  server.other = silent;
  const connection = connect(t, { load: () => server.kubeConfig() });
  const core = new CoreV1Api(connection.configuration);
  const call = kindOf(core.readNamespacedSecret({ namespace: 'flow', name: 's' }));
  await until(() => server.open === 1, 'the call');
  await connection.close();
  assert.equal(await call, 'network');
  await until(() => server.open === 0, 'the end of the call');
  assert.equal(await kindOf(core.readNamespacedSecret({ namespace: 'flow', name: 's' })), 'network');
  assert.equal(server.requests.length, 1);
});
