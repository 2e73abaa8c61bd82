// What readers see of a writer that is killed in the middle.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { test } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import { SegmentReader } from '../../catalogue/segment-reader.ts';
import { readAll, temporaryFolder } from './support.ts';
import { versionServed } from './versions.ts';

const program = join(import.meta.dirname, 'dying-writer.ts');

/** A step that no publication has. */
const never = 0;

/** @returns true when the writer came to its end, false when it was killed */
async function write(root: string, version: number, dieAt: number): Promise<boolean> {
  const child = spawn(process.execPath, [program, root, String(version), String(dieAt)], {
    stdio: ['ignore', 'ignore', 'pipe'],
    env: { ...process.env, NODE_COMPILE_CACHE: join(root, '../compiled') },
  });
  let said = '';
  child.stderr.on('data', (bytes) => {
    said += bytes;
  });
  const [code, signal] = await once(child, 'close');
  assert.ok(code === 0 || signal === 'SIGKILL', `the writer ended by itself (${code}): ${said}`);
  return code === 0;
}

test('a writer killed at every step of a publication never shows a reader anything but a whole catalogue', async () => {
  await using folder = await temporaryFolder();
  const root = join(folder.path, 'volume');
  assert.equal(await write(root, 0, never), true);

  const reader = new SegmentReader(root);
  let newest = 0;
  let last = 0;
  const look = async () => {
    const version = versionServed(await readAll(root, reader));
    assert.ok(version >= last && version <= newest, `version ${version} after ${last}, at most ${newest} is published`);
    last = version;
  };
  let writing = true;
  let looks = 0;
  const looking = (async () => {
    for (; writing; looks++) {
      await look();
      await pause(2);
    }
  })();
  const failed = looking.then(
    () => undefined,
    (error: unknown) => error,
  );

  let steps = 0;
  let wasKilled = true;
  while (wasKilled) {
    steps += 1;
    newest = steps;
    const writer = write(root, steps, steps);
    const outcome = await Promise.race([writer, failed]);
    await writer;
    if (typeof outcome !== 'boolean') break;
    wasKilled = !outcome;
  }
  writing = false;
  await looking;
  await look();
  reader.close();
  assert.equal(last, steps, 'the writer that lived published over all that was left behind');
  assert.ok(steps > 40, `a publication has more than 40 steps, not ${steps}`);
  assert.ok(looks > steps, `the reader looked more often (${looks}) than the writer died (${steps})`);
});
