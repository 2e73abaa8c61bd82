// What a machine is told that cannot run a node with pods.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { test } from 'node:test';

test('make e2e says who must run it, and what is missing with the packages to install', () => {
  const runner = join(import.meta.dirname, '../e2e/run.ts');
  const { status, stderr } = spawnSync(process.execPath, [runner], { env: { PATH: '' }, encoding: 'utf8' });
  assert.equal(status, 1);
  if (process.getuid?.() !== 0) return assert.match(stderr, /needs root: run this as root/);
  assert.match(stderr, /lacks unshare, .*catatonit.*buildah/);
  assert.match(
    stderr,
    /apt-get install -y util-linux mount iproute2 iptables conntrack catatonit openssl tar buildah npm xz-utils git apache2-bin\n/,
  );
});
