// MCP Inspector's command line: it reads every file that skills/list tells of and checks size and digest, and it judges
// the tools strictly.
import assert from 'node:assert/strict';
import { before, describe, it } from 'node:test';
import { lifetime } from '../server/support/gateway.ts';
import { aside, awkward, type Gateways, startLyceum, tokens } from './support/lyceum.ts';
import { type Ended, program, runProgram } from './support/programs.ts';

for (const era of ['legacy', 'modern', 'auto']) {
  describe(`MCP Inspector, era ${era}`, () => {
    const suite = lifetime();
    let inspector: string;
    let gateways: Gateways;
    before(async () => {
      [inspector, gateways] = await Promise.all([program('inspector'), startLyceum(suite)]);
    });

    const inspect = async (url: string, ...args: string[]): Promise<Ended> => {
      const common = ['--cli', url, '--transport', 'http', '--protocol-era', era];
      const ended = await runProgram(inspector, [...common, ...args]);
      assert.equal(ended.code, 0, ended.errors || ended.output);
      return ended;
    };
    const verify = ['--method', 'skills/list', '--verify', '--require-digests'];

    it('verifies every skill that is advertised, and every file of it', async () => {
      const { output, errors } = await inspect(gateways.open, ...verify);
      const files = Object.keys(aside).length + Object.keys(awkward).length + 2;
      assert.match(errors, new RegExp(`Verified 4 skills and ${files} files: no conformance errors\\.`));
      const skills = output
        .trim()
        .split('\n')
        .map((line) => JSON.parse(line) as { uri: string; ok: boolean; outcome: string });
      assert.deepEqual(
        skills.map(({ uri, ok, outcome }) => [uri, ok, outcome]),
        ['atlas/aside', 'atlas/awkward', 'atlas/grouped', 'grafana/panels'].map((address) => [
          `skill://${address}/SKILL.md`,
          true,
          'verified',
        ]),
      );
    });

    it('verifies what a token lets it see', async () => {
      const header = ['--header', `Authorization: Bearer ${tokens.n8n}`];
      const { errors } = await inspect(gateways.closed, ...verify, ...header);
      assert.match(errors, /Verified 1 skill and 1 file: no conformance errors\./);
    });

    it('finds no fault in the tools', async () => {
      const names = async (query: string): Promise<string[]> => {
        const { output } = await inspect(`${gateways.open}${query}`, '--method', 'tools/list', '--strict');
        return (JSON.parse(output) as { tools: { name: string }[] }).tools.map(({ name }) => name);
      };
      assert.deepEqual(await names(''), []);
      assert.deepEqual(await names('?resources=off&prompts=off'), [
        'list_resources',
        'read_resource',
        'list_prompts',
        'get_prompt',
      ]);
    });
  });
}
