// What `lyceum server` is told of the operator, as far as it can be wrong.
import assert from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { LyceumProcess } from '../fixtures/lyceum-process.ts';

let folder: string;
before(async () => {
  folder = await mkdtemp(join(tmpdir(), 'lyceum-options-'));
});
after(() => rm(folder, { recursive: true, force: true }));

async function refusal(...args: string[]): Promise<string> {
  await using process = new LyceumProcess(args);
  assert.equal(await process.ended(), 1);
  return process.errors.join('\n');
}

test('a server that is told a part of what it needs to ask the operator is refused, with the rest', async () => {
  const server = ['server', '--volume', folder, '--gateway', 'agents', '--host', '127.0.0.1', '--port', '0'];
  const url = ['--operator-url', 'https://lyceum-operator.flow.svc:9443'];
  const files = ['--operator-ca', join(folder, 'ca.crt'), '--operator-token', join(folder, 'token')];
  assert.match(await refusal(...server, ...url), /--operator-url, --operator-ca and --operator-token belong together/);
  assert.match(await refusal(...server, ...files), /belong together/);
  const plain = ['--operator-url', 'http://lyceum-operator.flow.svc:9443'];
  assert.match(await refusal(...server, ...plain, ...files), /--operator-url begins with https:/);
});
