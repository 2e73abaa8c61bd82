// Which address stands for all of a machine: in a cluster without IPv4 a pod has no other than IPv6.
import assert from 'node:assert/strict';
import type { NetworkInterfaceInfo } from 'node:os';
import { test } from 'node:test';
import { anyAddress } from '../../cli/any-address.ts';

const loopback = [at('127.0.0.1', true), at('::1', true)];

function at(address: string, internal = false): NetworkInterfaceInfo {
  const family = address.includes(':') ? ('IPv6' as const) : ('IPv4' as const);
  const common = { address, netmask: '', mac: '', internal, cidr: null };
  return family === 'IPv6' ? { ...common, family, scopeid: 0 } : { ...common, family };
}

test('a pod is reached by the addresses that it has', () => {
  assert.equal(anyAddress({ lo: loopback, eth0: [at('10.81.0.7')] }), '0.0.0.0');
  assert.equal(anyAddress({ lo: loopback, eth0: [at('fd00::7')] }), '::');
  assert.equal(anyAddress({ lo: loopback, eth0: [at('10.81.0.7'), at('fd00::7')] }), '::');
  assert.equal(anyAddress({}), '0.0.0.0');
});
