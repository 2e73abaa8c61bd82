// The port for webhooks as strangers meet it: who may ask for a look, what everybody else is told, and what bounds there are.
import assert from 'node:assert/strict';
import { createHmac } from 'node:crypto';
import { connect } from 'node:net';
import { Writable } from 'node:stream';
import { text } from 'node:stream/consumers';
import { after, before, beforeEach, describe, test } from 'node:test';
import { pino } from 'pino';
import { KubernetesError } from '../../operator/kubernetes/kubernetes-error.ts';
import type { Listener } from '../../operator/listeners.ts';
import { mostBodyBytes, webhooksListener } from '../../operator/webhooks/listener.ts';
import { Receiver } from '../../operator/webhooks/receiver.ts';
import { eventually } from '../fixtures/eventually.ts';
import { MemoryCluster } from '../fixtures/memory-cluster.ts';
import { FakeClock } from '../kubernetes/fake-clock.ts';

const token = 'canary token of this test';
const url = 'github://example/skills';
const sign = (body: string | Buffer, key = token): Record<string, string> => ({
  'X-Hub-Signature-256': `sha256=${createHmac('sha256', key).update(body).digest('hex')}`,
});

let cluster: MemoryCluster;
let clock: FakeClock;
let receiver: Receiver;
let looks: string[];
let results: string[];
let leads: boolean;
let leader: string | undefined;
let secretReads: number;
let apiServerAway: boolean;
let log = '';
const listeners: Listener[] = [];
let origin: string;
let second: string;

const sink = new Writable({
  write: (chunk, _encoding, done) => {
    log += String(chunk);
    done();
  },
});

async function start(working: () => boolean): Promise<string> {
  const listener = await webhooksListener({
    host: '127.0.0.1',
    port: 0,
    receiver: { receive: (key, headers) => receiver.receive(key, headers) },
    working,
    leader: async () => leader,
    log: pino({ level: 'debug' }, sink),
  });
  listeners.push(listener);
  return `http://127.0.0.1:${listener.port}`;
}

before(async () => {
  origin = await start(() => leads);
  second = await start(() => false);
});
after(async () => {
  await Promise.all(listeners.map((listener) => listener.close()));
  assert.doesNotMatch(log, /canary/);
});

beforeEach(() => {
  cluster = new MemoryCluster();
  clock = new FakeClock();
  [looks, results, secretReads] = [[], [], 0];
  [leads, leader, apiServerAway] = [true, undefined, false];
  const readSecret = cluster.readSecret.bind(cluster);
  cluster.readSecret = (namespace, name) => {
    secretReads += 1;
    if (apiServerAway) return Promise.reject(new KubernetesError('network', 'the API server is away'));
    return readSecret(namespace, name);
  };
  cluster.secrets.set('hook', { token: `${token}\n`, other: 'x' });
  cluster.source('skills', { spec: { url, webhook: { provider: 'GitHub', secretRef: { name: 'hook' } } } });
  cluster.source('silent', { spec: { url } });
  receiver = new Receiver({
    cluster,
    look: (source) => looks.push(source),
    metrics: { received: (provider, result) => results.push(`${provider} ${result}`) },
    clock,
    log: pino({ level: 'debug' }, sink),
  });
});

interface Told {
  status: number;
  body: unknown;
  headers: Headers;
}

async function post(
  path: string,
  headers: Record<string, string>,
  body: string | Buffer = '',
  to = origin,
): Promise<Told> {
  const answer = await fetch(new URL(path, to), { method: 'POST', headers, body });
  return { status: answer.status, body: await answer.json(), headers: answer.headers };
}

/** What must look the same: all but the date. */
const look = ({ status, body, headers }: Told) => ({
  status,
  body,
  headers: [...headers].filter(([name]) => name !== 'date'),
});

const skills = '/hooks/default/skills';
const push = '{"ref":"refs/heads/main"}';

test('who signs with the token makes the source be looked at', async () => {
  const { status, body } = await post(skills, sign(push), push);
  assert.deepEqual({ status, body }, { status: 202, body: { look: 'now' } });
  assert.deepEqual([looks, results], [['default/skills'], ['GitHub now']]);
});

test('nothing in a body is read: a ping, a form, bytes that are no text, and none at all ask for a look', async () => {
  const bodies = ['{"zen":"Design for failure."}', 'payload=%7B%7D', Buffer.from([0, 255, 10, 13]), ''];
  for (const body of bodies) {
    assert.equal((await post(skills, sign(body), body)).status, 202);
    clock.advance(5_000);
  }
  assert.equal(looks.length, bodies.length);
});

test('further ones share a look, and a repeated one does no harm', async () => {
  const told = [];
  for (let at = 0; at < 100; at++) told.push((await post(skills, sign(push), push)).body);
  assert.deepEqual(told.slice(0, 2), [{ look: 'now' }, { look: 'soon' }]);
  assert.equal(looks.length, 1);
  clock.advance(5_000);
  assert.equal(looks.length, 2);
  clock.advance(60_000);
  assert.equal(looks.length, 2);
});

test('a suspended source is not looked at, and its provider is told that all is well', async () => {
  const webhook = { provider: 'GitHub', secretRef: { name: 'hook' } };
  cluster.source('skills', { spec: { url, webhook, suspend: true } });
  const { status, body } = await post(skills, sign(push), push);
  assert.deepEqual({ status, body }, { status: 202, body: { look: 'suspended' } });
  assert.deepEqual([looks, results], [[], ['GitHub suspended']]);
});

test('unknown, not asked for, unsigned and wrongly signed look the same', async () => {
  cluster.source('lost', { spec: { url, webhook: { provider: 'GitHub', secretRef: { name: 'gone' } } } });
  cluster.source('broken', { spec: { url: 'gopher://x' } });
  const told = [
    await post('/hooks/default/nobody', sign(push), push),
    await post('/hooks/elsewhere/skills', sign(push), push),
    await post('/hooks/default/silent', sign(push), push),
    await post('/hooks/default/broken', sign(push), push),
    await post('/hooks/default/lost', sign(push), push),
    await post(skills, {}, push),
    await post(skills, sign(push, 'another token of somebody'), push),
    await post(skills, sign(`${push} `), push),
    await post(skills, { ...sign(push), 'x-hub-signature-256': 'sha256=00' }, push),
  ];
  const [first, ...others] = told.map(look);
  assert.equal(first!.status, 401);
  assert.deepEqual(first!.body, { error: 'Unauthorized' });
  for (const other of others) assert.deepEqual(other, first);
  assert.deepEqual(looks, []);
  assert.deepEqual(
    [results.filter((one) => one === 'none refused').length, results.filter((one) => one === 'GitHub refused').length],
    [4, 4],
  );
});

test('a Secret that is missing, or has no token, is told once on the source, and strangers learn nothing', async () => {
  cluster.source('lost', { spec: { url, webhook: { provider: 'GitHub', secretRef: { name: 'gone' } } } });
  for (let at = 0; at < 3; at++) await post('/hooks/default/lost', sign(push), push);
  const complaint = () => cluster.events.map(({ object, type, reason, note }) => [object, type, reason, note]);
  assert.deepEqual(complaint(), [
    [
      'lost',
      'Warning',
      'SecretNotFound',
      'Secret "gone" is not there in namespace "default": create it, or change spec.webhook.secretRef',
    ],
  ]);
  for (const short of ['', 'short', 'x'.repeat(1025)]) {
    cluster.events.length = 0;
    cluster.secrets.set('gone', { token: short });
    clock.advance(10_000);
    assert.equal((await post('/hooks/default/lost', sign(push, short || 'x'), push)).status, 401);
  }
  cluster.secrets.set('gone', { token: 'long enough a token' });
  clock.advance(10_000);
  assert.equal((await post('/hooks/default/lost', sign(push, 'long enough a token'), push)).status, 202);
});

test('a changed Secret counts within 30 seconds, and strangers cannot make it be asked for again and again', async () => {
  for (let at = 0; at < 20; at++) await post(skills, {}, push);
  assert.equal(secretReads, 1);
  cluster.secrets.set('hook', { token: 'the token after that one' });
  clock.advance(30_000);
  assert.equal((await post(skills, sign(push), push)).status, 401);
  assert.equal((await post(skills, sign(push, 'the token after that one'), push)).status, 202);
  for (let at = 0; at < 20; at++) await post('/hooks/default/nobody', {}, push);
  assert.equal(secretReads, 2);
});

test('while the API server is away the provider is told to come again, and is heard when it is back', async () => {
  apiServerAway = true;
  const { status, body, headers } = await post(skills, sign(push), push);
  assert.deepEqual([status, body, headers.get('retry-after')], [503, { error: 'Unavailable' }, '20']);
  apiServerAway = false;
  assert.equal((await post(skills, sign(push), push)).status, 202);
  assert.deepEqual(results, ['GitHub failed', 'GitHub now']);
});

/** What is answered, until the connection is closed, to what is sent as it stands. */
async function spoken(...pieces: (string | Buffer)[]): Promise<string> {
  const socket = connect(Number(new URL(origin).port), '127.0.0.1');
  const said: Buffer[] = [];
  socket.on('data', (piece) => said.push(piece)).on('error', () => {});
  for (const piece of pieces) socket.write(piece);
  // Not `once` of node:events, which a connection that is reset would reject.
  await new Promise((resolve) => socket.once('close', resolve));
  return Buffer.concat(said).toString();
}

describe('bounds', () => {
  test('only POST, and only below /hooks', async () => {
    const get = await fetch(new URL(skills, origin));
    assert.deepEqual([get.status, get.headers.get('allow')], [405, 'POST']);
    for (const path of [
      '/',
      '/hooks',
      '/hooks/default',
      '/hooks/default/skills/x',
      '/hooks/Default/skills',
      '/hooks/default/%73kills',
      '/metrics',
    ]) {
      assert.equal((await post(path, sign(push), push)).status, 404, path);
    }
    assert.equal((await post(`${skills}?from=gitea`, sign(push), push)).status, 202);
  });

  test('25 MB pass, which is the most that GitHub sends', async () => {
    const large = Buffer.alloc(25_000_000, 'x');
    assert.equal((await post(skills, sign(large), large)).status, 202);
  });

  test('a longer one is refused as soon as that is known, with its length told or in chunks', async () => {
    const told = await spoken(`POST ${skills} HTTP/1.1\r\nHost: x\r\nContent-Length: ${mostBodyBytes + 1}\r\n\r\n`);
    assert.match(told, /^HTTP\/1\.1 413 /);
    const piece = Buffer.concat([Buffer.from('100000\r\n'), Buffer.alloc(2 ** 20), Buffer.from('\r\n')]);
    const pieces = Array.from({ length: 26 }, () => piece);
    const chunked = await spoken(`POST ${skills} HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n`, ...pieces);
    assert.match(chunked, /^HTTP\/1\.1 413 /);
    assert.deepEqual([looks, results], [[], ['GitHub refused', 'GitHub refused']]);
  });

  test('chunks are as good as a length', async () => {
    const pieces = new ReadableStream({
      start(controller) {
        for (const piece of [push.slice(0, 5), push.slice(5)]) controller.enqueue(Buffer.from(piece));
        controller.close();
      },
    });
    const answer = await fetch(new URL(skills, origin), {
      method: 'POST',
      headers: sign(push),
      body: pieces,
      duplex: 'half',
    });
    assert.equal(answer.status, 202);
  });

  test('a signature that was sent twice is none', async () => {
    const [[name, value]] = Object.entries(sign(push)) as [[string, string]];
    const socket = connect(Number(new URL(origin).port), '127.0.0.1');
    socket.write(
      `POST ${skills} HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Length: ${push.length}\r\n${name}: ${value}\r\n${name}: ${value}\r\n\r\n${push}`,
    );
    assert.match(await text(socket), /^HTTP\/1\.1 401 /);
  });

  test('who breaks off has said nothing', async () => {
    const socket = connect(Number(new URL(origin).port), '127.0.0.1');
    const headers = Object.entries(sign(push)).map(([name, value]) => `${name}: ${value}`);
    socket.write(
      `POST ${skills} HTTP/1.1\r\nHost: x\r\nContent-Length: 9999\r\n${headers.join('\r\n')}\r\n\r\n${push}`,
    );
    await eventually('it has come', () => secretReads === 1);
    socket.destroy();
    await eventually('it is given up', () => results.length === 1);
    assert.deepEqual([results, looks], [['GitHub refused'], []]);
  });

  test('who sends his headers slowly is let go after some seconds', async () => {
    const socket = connect(Number(new URL(origin).port), '127.0.0.1');
    socket.write(`POST ${skills} HTTP/1.1\r\nHost: x\r\n`);
    const began = performance.now();
    const said = await text(socket);
    assert.match(said, /^HTTP\/1\.1 408 /);
    assert.ok(performance.now() - began < 10_000);
  });

  test('what is no HTTP is turned away, and others are heard', async () => {
    for (const bytes of [
      '\0\0\0',
      'POST /hooks HTTP/9.9\r\n\r\n',
      `POST ${skills} HTTP/1.1\r\nX: ${'x'.repeat(20_000)}\r\n\r\n`,
    ]) {
      await spoken(bytes);
    }
    assert.equal((await post(skills, sign(push), push)).status, 202);
  });
});

describe('one that does not lead', () => {
  test('passes a webhook on, whole, to the one that does, and answers what that one answers', async () => {
    leader = origin;
    const large = Buffer.alloc(3_000_000, 'y');
    const good = await post(skills, sign(large), large, second);
    assert.deepEqual([good.status, good.body, looks], [202, { look: 'now' }, ['default/skills']]);
    const [bad, direct] = [await post(skills, {}, push, second), await post(skills, {}, push)];
    assert.deepEqual(look(bad), look(direct));
  });

  test('says so while nobody leads, or who leads is not there, and nobody passes on what was passed on', async () => {
    for (const nobody of [undefined, 'http://127.0.0.1:1', second]) {
      leader = nobody;
      const { status, headers } = await post(skills, sign(push), push, second);
      assert.deepEqual([status, headers.get('retry-after')], [503, '20'], nobody);
    }
    assert.deepEqual(looks, []);
  });

  test('too long is too long for it, too', async () => {
    leader = origin;
    const socket = connect(Number(new URL(second).port), '127.0.0.1');
    socket.write(`POST ${skills} HTTP/1.1\r\nHost: x\r\nContent-Length: ${mostBodyBytes + 1}\r\n\r\n`);
    assert.match(await text(socket), /^HTTP\/1\.1 413 /);
  });
});
