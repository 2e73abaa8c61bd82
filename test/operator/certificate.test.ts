// The certificate of the operator's port for its servers: what it needs, and how another one takes its place.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { copyFile, mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { connect } from 'node:tls';
import { pino } from 'pino';
import { callersListener } from '../../operator/callers/listener.ts';
import type { Clock } from '../../operator/clock.ts';
import type { Listener } from '../../operator/listeners.ts';
import { eventually } from '../fixtures/eventually.ts';
import { certificate } from '../kubernetes/certificates.ts';
import { FakeClock } from '../kubernetes/fake-clock.ts';

let folder: string;
before(async () => {
  folder = await mkdtemp(join(tmpdir(), 'lyceum-certificate-'));
});
after(() => rm(folder, { recursive: true, force: true }));

const lines: { msg: string; why?: string }[] = [];
const log = pino({}, { write: (line: string) => void lines.push(JSON.parse(line)) });
const warnings = (): number => lines.filter(({ why }) => why !== undefined).length;

const listen = (tlsFolder: string, clock: Clock): Promise<Listener> =>
  callersListener({
    host: '127.0.0.1',
    port: 0,
    tlsFolder,
    identify: async () => 'unknown',
    routes: {},
    clock,
    log,
  });

/** A folder as a Secret is mounted, with a certificate of this name. */
async function use(tls: string, name: string): Promise<void> {
  await certificate(folder, name);
  await mkdir(tls, { recursive: true });
  for (const end of ['crt', 'key']) await copyFile(join(folder, `${name}.${end}`), join(tls, `tls.${end}`));
}

/** The name in the certificate that a new connection is shown. */
function shown(port: number): Promise<string> {
  const { promise, resolve, reject } = Promise.withResolvers<string>();
  const socket = connect({ host: '127.0.0.1', port, rejectUnauthorized: false }, () => {
    resolve(String(socket.getPeerCertificate().subject.CN));
    socket.destroy();
  }).on('error', reject);
  return promise;
}

test('a certificate that is replaced is used without a restart; one that cannot be used leaves the one before', async () => {
  const tls = join(folder, 'tls');
  await use(tls, 'first');
  const clock = new FakeClock();
  const listener = await listen(tls, clock);
  try {
    assert.equal(await shown(listener.port), 'first');
    const after = async (seconds: number): Promise<void> => {
      await eventually('the next look is planned', () => clock.waiting.length === 1);
      clock.advance(seconds * 1000);
      await eventually('it was looked', () => clock.waiting.length === 1);
    };
    await use(tls, 'second');
    await after(10);
    assert.equal(await shown(listener.port), 'second');

    await writeFile(join(tls, 'tls.key'), 'no key');
    await after(10);
    await after(10);
    assert.equal(await shown(listener.port), 'second');
    assert.equal(warnings(), 1);
    await rm(join(tls, 'tls.key'));
    await after(10);
    assert.equal(await shown(listener.port), 'second');
    assert.equal(warnings(), 2);

    await use(tls, 'third');
    await after(10);
    assert.equal(await shown(listener.port), 'third');
  } finally {
    await listener.close();
  }
  await assert.rejects(shown(listener.port), { code: 'ECONNREFUSED' });
  assert.deepEqual(clock.waiting, []);
});

test('whoever connects and asks nothing, or never ends what he asks, has no place for long', async () => {
  const tls = join(folder, 'silent');
  await use(tls, 'silent');
  const listener = await listen(tls, new FakeClock());
  try {
    const closed = ['', 'POST /reindex HTTP/1.1\r\nHost: operator\r\n'].map(async (head) => {
      const socket = connect({ host: '127.0.0.1', port: listener.port, rejectUnauthorized: false });
      await once(socket, 'secureConnect');
      socket.write(head);
      await once(socket.resume(), 'close', { signal: AbortSignal.timeout(10_000) });
    });
    await Promise.all(closed);
  } finally {
    await listener.close();
  }
});

test('a folder without a certificate and its own key is refused, with what it must have', async () => {
  const clock = new FakeClock();
  const tls = join(folder, 'bad');
  await assert.rejects(listen(tls, clock), /bad\/tls\.(crt|key) cannot be read \(ENOENT\): .* tls\.crt and tls\.key/);
  await use(tls, 'one');
  await certificate(folder, 'two');
  await copyFile(join(folder, 'two.key'), join(tls, 'tls.key'));
  await assert.rejects(listen(tls, clock), /bad: tls\.crt and tls\.key are no certificate and its private key/);
});
