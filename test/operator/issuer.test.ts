// Keys of the API server: how long they are trusted, and how often they are asked for. No API server rotates or hides its keys
// on demand, so a fake one is asked here.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type CryptoKey, exportJWK, generateKeyPair, SignJWT } from 'jose';
import { Issuer, KeysUnavailable } from '../../operator/callers/issuer.ts';
import { podOfToken } from '../../operator/callers/token.ts';
import { FakeClock } from '../kubernetes/fake-clock.ts';

const issuerName = 'https://kubernetes.default.svc.cluster.local';

class FakeApiServer {
  readonly clock = new FakeClock();
  readonly paths: string[] = [];
  readonly issuer = new Issuer({ getJson: (path) => this.#answer(path) }, this.clock);
  readonly #keys = new Map<string, { sign: CryptoKey; published: object }>();
  away = false;

  static async start(): Promise<FakeApiServer> {
    const server = new FakeApiServer();
    await server.addKey('a');
    return server;
  }

  async addKey(kid: string): Promise<void> {
    const { publicKey, privateKey } = await generateKeyPair('ES256');
    const published = { ...(await exportJWK(publicKey)), kid, alg: 'ES256', use: 'sig' };
    this.#keys.set(kid, { sign: privateKey, published });
  }

  /** The key is used no more; tokens that it signed may still be around. */
  async retire(kid: string): Promise<string> {
    const token = await this.token(kid);
    this.#keys.delete(kid);
    return token;
  }

  token(kid: string, claims: object = {}): Promise<string> {
    const now = Math.floor(this.clock.now() / 1000);
    const own = { 'kubernetes.io': { namespace: 'flow', pod: { name: 'agents-1', uid: '1' } } };
    const standard = { iss: issuerName, aud: ['lyceum'], sub: 'x', iat: now, exp: now + 3600 };
    return new SignJWT({ ...standard, ...own, ...claims })
      .setProtectedHeader({ alg: 'ES256', kid })
      .sign(this.#keys.get(kid)!.sign);
  }

  known(token: string): Promise<boolean> {
    return podOfToken(token, this.issuer, this.clock.now()).then((pod) => pod !== undefined);
  }

  /** How often the keys were asked for. */
  get fetches(): number {
    return this.paths.filter((path) => path === '/openid/v1/jwks').length;
  }

  async #answer(path: string): Promise<unknown> {
    this.paths.push(path);
    if (this.away) throw new Error('away');
    if (path === '/.well-known/openid-configuration') {
      return { issuer: issuerName, jwks_uri: 'https://elsewhere.example/keys' };
    }
    return { keys: [...this.#keys.values()].map(({ published }) => published) };
  }
}

test('keys are asked for once for many tokens, of the API server itself', async () => {
  const server = await FakeApiServer.start();
  const token = await server.token('a');
  assert.deepEqual(await Promise.all([token, token, token].map((one) => server.known(one))), [true, true, true]);
  assert.deepEqual(server.paths, ['/.well-known/openid-configuration', '/openid/v1/jwks']);
});

test('a key that is new is known at once; ids that nobody has cause one question in three seconds', async () => {
  const server = await FakeApiServer.start();
  assert.ok(await server.known(await server.token('a')));
  server.clock.advance(3_000);
  await server.addKey('b');
  assert.ok(await server.known(await server.token('b')));
  assert.equal(server.fetches, 2);
  await server.addKey('c');
  const unknown = await server.retire('c');
  for (let more = 0; more < 20; more++) assert.equal(await server.known(unknown), false);
  assert.equal(server.fetches, 2);
  server.clock.advance(3_000);
  for (let more = 0; more < 20; more++) assert.equal(await server.known(unknown), false);
  assert.equal(server.fetches, 3);
});

test('a key that was taken out of use is trusted for ten minutes at most', async () => {
  const server = await FakeApiServer.start();
  await server.addKey('b');
  assert.ok(await server.known(await server.token('b')));
  const old = await server.retire('b');
  server.clock.advance(9 * 60_000);
  assert.ok(await server.known(old));
  server.clock.advance(60_000);
  assert.equal(await server.known(old), false);
});

test('keys that cannot be had are no reason to let somebody in, nor to ask without pause', async () => {
  const server = await FakeApiServer.start();
  const token = await server.token('a');
  server.away = true;
  for (let more = 0; more < 5; more++) await assert.rejects(server.known(token), KeysUnavailable);
  assert.equal(server.fetches, 1);
  server.away = false;
  server.clock.advance(3_000);
  assert.ok(await server.known(token));
  server.away = true;
  server.clock.advance(10 * 60_000);
  await assert.rejects(server.known(token), KeysUnavailable);
});

test('only a token of this issuer for this audience, bound to a pod and with an end, names one', async () => {
  const server = await FakeApiServer.start();
  const pod = { namespace: 'flow', name: 'agents-1', uid: '1' };
  assert.deepEqual(await podOfToken(await server.token('a'), server.issuer, server.clock.now()), pod);
  const cases: Record<string, object> = {
    'another issuer': { iss: 'https://elsewhere.example' },
    'another audience': { aud: 'api' },
    'no audience': { aud: undefined },
    'no end': { exp: undefined },
    'no pod': { 'kubernetes.io': { namespace: 'flow' } },
    'a pod without uid': { 'kubernetes.io': { namespace: 'flow', pod: { name: 'agents-1' } } },
    'no claims of Kubernetes': { 'kubernetes.io': undefined },
    'not yet': { nbf: Math.floor(server.clock.now() / 1000) + 60 },
  };
  for (const [what, claims] of Object.entries(cases)) {
    assert.equal(await server.known(await server.token('a', claims)), false, what);
  }
});
