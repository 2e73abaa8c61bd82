// The option of `lyceum operator` that lets pods copy the catalogue, and the certificates that they know the operator by.
import assert from 'node:assert/strict';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { pino } from 'pino';
import { followAuthority, syncAuthority } from '../../cli/operator/sync-authority.ts';
import { eventually } from '../fixtures/eventually.ts';
import { FakeClock } from '../kubernetes/fake-clock.ts';

const pem = (body: string): string => `-----BEGIN CERTIFICATE-----\n${body}\n-----END CERTIFICATE-----\n`;
let folder: string;
before(async () => {
  folder = await mkdtemp(join(tmpdir(), 'lyceum-authority-'));
  await writeFile(join(folder, 'ca.crt'), pem('one'));
});
after(() => rm(folder, { recursive: true, force: true }));

const flags = { sync: true, volumeClaim: 'catalogue', callersUrl: 'https://operator:9443' };

test('copies need the port for callers and its authority', async () => {
  assert.deepEqual(await syncAuthority({ ...flags, tlsFolder: folder }), { authority: pem('one') });
  assert.equal(await syncAuthority({ ...flags, sync: false, tlsFolder: folder }), undefined);
  await assert.rejects(syncAuthority(flags), /--sync needs --callers-url and --tls-folder/);
  await assert.rejects(syncAuthority({ ...flags, tlsFolder: '/none' }), /\/none\/ca.crt cannot be read \(ENOENT\)/);
  const other = await mkdtemp(join(folder, 'other-'));
  for (const text of ['', 'hello', `${pem('x')}-----BEGIN PRIVATE KEY-----\nx\n`]) {
    await writeFile(join(other, 'ca.crt'), text);
    await assert.rejects(
      syncAuthority({ ...flags, tlsFolder: other }),
      /must hold certificates in PEM and nothing else/,
    );
  }
});

test('another authority is given to the pods while the operator runs', async () => {
  const known = { authority: pem('before') };
  const stop = new AbortController();
  const clock = new FakeClock();
  let changes = 0;
  const changed = (): void => {
    changes += 1;
  };
  const log = pino({ level: 'silent' });
  const following = followAuthority(known, folder, { clock, log, signal: stop.signal, changed });
  await eventually('the change', () => {
    clock.advance(10_000);
    return changes === 1 && known.authority === pem('one');
  });
  stop.abort();
  await following;
  assert.equal(changes, 1);
});
