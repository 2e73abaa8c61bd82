// What `helm test` runs: the operator answers at its Service, by a certificate of its own authority, and asks who calls.
import { readFileSync } from 'node:fs';
import { request } from 'node:https';
import { setTimeout as pause } from 'node:timers/promises';

const [url, authority] = process.argv.slice(-2);
const seconds = 30;

const ask = () =>
  new Promise((resolve, reject) => {
    const options = { method: 'POST', ca: readFileSync(authority), agent: false, timeout: 5_000 };
    const asked = request(`${url}/reindex`, options, (answer) => {
      answer.resume();
      resolve(answer.statusCode);
    });
    asked.on('timeout', () => asked.destroy(new Error('no answer within 5 s')));
    asked.on('error', reject);
    asked.end();
  });

let last;
for (const end = Date.now() + seconds * 1000; Date.now() < end; await pause(1000)) {
  try {
    last = `it answered ${await ask()} where a call without a token is 401`;
    if (last.includes('answered 401')) {
      console.log(`The operator answers at ${url}, and takes no call without a token.`);
      process.exit(0);
    }
  } catch (error) {
    last = error.code ?? error.message;
  }
}
console.error(`The operator did not answer at ${url} within ${seconds} s: ${last}. See kubectl logs of its pod.`);
process.exit(1);
