// Nothing that the tests start outlives them.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { connect } from 'node:net';
import { createInterface } from 'node:readline';
import { test } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import type { Coordinates } from './coordinates.ts';

const starter = `
  import { startControlPlane } from '${new URL('api-server.ts', import.meta.url)}';
  console.log(JSON.stringify((await startControlPlane()).coordinates));
  setInterval(() => {}, 1000);
`;

const answers = (url: string): Promise<boolean> =>
  new Promise((resolve) => {
    const { hostname, port } = new URL(url);
    const socket = connect(Number(port), hostname, () => resolve(true));
    socket.on('error', () => resolve(false)).on('connect', () => socket.destroy());
  });

test('the control plane ends when the process that started it is killed', {
  skip: !existsSync('/proc/self/cmdline'),
}, async () => {
  const child = spawn(process.execPath, ['--input-type=module', '-e', starter], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  try {
    const [line] = (await once(createInterface({ input: child.stdout }), 'line')) as [string];
    const { folder, url }: Coordinates = JSON.parse(line);
    assert.ok(await answers(url));
    child.kill('SIGKILL');
    const deadline = Date.now() + 15_000;
    while (existsSync(folder) || (await answers(url))) {
      assert.ok(Date.now() < deadline, 'still there after 15 s');
      await pause(20);
    }
  } finally {
    child.kill('SIGKILL');
  }
});
