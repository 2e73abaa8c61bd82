// The Host rule, which goes by the address that a server is bound to, however it was written.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { accessRules, refusal } from '../../server/http/access.ts';

const hostRefused = (boundTo: string, host: string): boolean =>
  refusal(accessRules('flow', 'agents', boundTo), undefined, host, undefined) !== undefined;

test('on every loopback address only names of this machine are answered', () => {
  for (const address of ['127.0.0.1', '127.0.0.2', '::1', '::ffff:127.0.0.1']) {
    assert.equal(hostRefused(address, 'evil.example'), true, address);
    assert.equal(hostRefused(address, 'localhost:8000'), false, address);
  }
  assert.equal(hostRefused('127.0.0.2', '127.0.0.2:8000'), false);
});

test('elsewhere any Host is answered', () => {
  for (const address of ['0.0.0.0', '10.1.2.3', '::']) assert.equal(hostRefused(address, 'agents.flow.svc'), false);
});
