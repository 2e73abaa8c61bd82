// Real client programs against real servers: installs what is missing, then `node --test` over every client's file.
// Arguments, where given, stand for the test files: npm run test-clients -- test/clients/inspector.client.ts
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { program, programNames } from './support/programs.ts';

const files = process.argv.length > 2 ? process.argv.slice(2) : ['test/clients/*.client.ts'];

// Before the tests, since it takes longer than a test may. What cannot be installed is told by its tests.
for (const name of programNames) await program(name).catch((fault: Error) => console.error(fault.message));

const tests = spawn(process.execPath, ['--test', '--test-timeout=180000', ...files], {
  stdio: ['ignore', 'inherit', 'inherit'],
});
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => tests.kill(signal));
const [code] = await once(tests, 'exit');
process.exitCode = code ?? 1;
