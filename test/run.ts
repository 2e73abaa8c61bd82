// The test runner: Helm, an S3 server and one API server for the whole suite, `node --test` over every test file, nothing left behind.
// Arguments, where given, stand for the test files: npm test -- 'test/harvest/**/*.test.ts'
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { availableParallelism } from 'node:os';
import { startControlPlane } from './cluster/api-server.ts';
import { buildAhead } from './cluster/build-ahead.ts';
import { coordinatesVariable } from './cluster/coordinates.ts';

const files = process.argv.length > 2 ? process.argv.slice(2) : ['test/**/*.test.ts'];

await buildAhead('helm', 'versitygw', 'definitions');
await using controlPlane = await startControlPlane();
const tests = spawn(
  process.execPath,
  ['--test', '--test-timeout=300000', `--test-concurrency=${availableParallelism() + 2}`, ...files],
  {
    stdio: ['ignore', 'inherit', 'inherit'],
    env: { ...process.env, [coordinatesVariable]: JSON.stringify(controlPlane.coordinates) },
  },
);
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => tests.kill(signal));
const [code] = await once(tests, 'exit');
process.exitCode = code ?? 1;
