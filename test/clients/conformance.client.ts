// The protocol's official conformance suite, in both eras, and its scenarios of the Skills extension on both wires.
// What must fail is in expected-failures.yml: an entry that does not fail any more is a failure too.
import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { before, describe, it } from 'node:test';
import { stripVTControlCharacters } from 'node:util';
import { lifetime } from '../server/support/gateway.ts';
import { type Gateways, startLyceum } from './support/lyceum.ts';
import { type Ended, runProgram } from './support/programs.ts';

const program = join(import.meta.dirname, '../../node_modules/.bin/conformance');
const expectedFailures = join(import.meta.dirname, 'expected-failures.yml');
const revisions = ['2026-07-28', '2025-11-25'];

describe('the conformance suite', { concurrency: true }, () => {
  const suite = lifetime();
  let gateways: Gateways;
  const requirements = new Map<string, Promise<Ended>>();
  before(async () => {
    gateways = await startLyceum(suite);
    // With the tools shown, so that what is said of tools is asked of some.
    const url = `${gateways.conformance}?resources=off&prompts=off`;
    for (const revision of revisions) {
      const args = ['server', '--url', url, '--requirements', revision, '--expected-failures', expectedFailures];
      requirements.set(revision, runProgram(program, args));
    }
  });

  const passed = ({ code, output, errors }: Ended): string => {
    assert.equal(code, 0, output.split('=== SUMMARY ===').at(-1)! + errors);
    return output;
  };

  for (const revision of revisions) {
    it(`finds what ${revision} requires`, async () => {
      const output = passed(await requirements.get(revision)!);
      const [, checks] = /Total: (\d+) passed/.exec(output) ?? [];
      assert.ok(Number(checks) >= (revision === '2026-07-28' ? 100 : 38), `${checks} passed`);
    });

    for (const scenario of ['enumeration', 'manifest', 'directory']) {
      it(`finds the Skills extension’s ${scenario} right under ${revision}`, async () => {
        const asked = ['--scenario', `sep-2640-skills-${scenario}`, '--force', '--spec-version', revision];
        const output = passed(await runProgram(program, ['server', '--url', gateways.open, ...asked]));
        const [, checks, all, failed] = /Passed: (\d+)\/(\d+), (\d+) failed/.exec(output) ?? [];
        assert.ok(Number(checks) >= 4, output);
        assert.deepEqual([checks, failed], [all, '0'], output);
      });
    }
  }

  it('fails where it is expected to, for a reason in words', async () => {
    const reasons = new Map<string, string>();
    for (const line of (await readFile(expectedFailures, 'utf8')).split('\n')) {
      const [, check, reason] = /^ {2}- (\S+) # (\w.{10,}\.)$/.exec(line) ?? [];
      if (check) reasons.set(check, reason!);
      else assert.match(line, /^(server:|\s*#.*|)$/);
    }
    const failed = (await Promise.all(requirements.values())).flatMap(({ output }) =>
      [...stripVTControlCharacters(output).matchAll(/^ {2}~ (\S+)$/gm)].map(([, check]) => check!),
    );
    assert.deepEqual([...reasons.keys()].sort(), [...new Set(failed)].sort());
  });
});
