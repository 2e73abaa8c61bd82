// What a request is about to put into memory, by which many large answers wait for each other.
import assert from 'node:assert/strict';
import { before, describe, it } from 'node:test';
import { SegmentReader } from '../../catalogue/segment-reader.ts';
import { bytesAsked } from '../../server/live/asked.ts';
import { loadCatalogue } from '../../server/snapshot/load.ts';
import { type View, visible } from '../../server/view.ts';
import { GatewayFixture, gatewayName, lifetime, namespace } from './support/gateway.ts';

describe('the bytes that a request asks for', () => {
  const suite = lifetime();
  let view: View;
  before(async () => {
    const gateway = await GatewayFixture.create(suite);
    const small = Object.fromEntries(Array.from({ length: 2000 }, (_, at) => [`${at}.txt`, 'x']));
    const skills = Array.from({ length: 100 }, (_, at) => ({ address: `s${at}`, description: 'x'.repeat(500) }));
    await gateway.publish({
      sources: [
        {
          name: 'kata',
          skills: [
            { address: 'large', files: { 'a.txt': 'x'.repeat(100_000), 'CHANGELOG.md': 'x'.repeat(500_000) } },
            { address: 'many', files: small },
            { address: 'huge', files: { 'a.txt': 'x'.repeat(17 * 2 ** 20) } },
            ...skills,
          ],
        },
      ],
    });
    const reader = new SegmentReader(gateway.root);
    suite.after(() => reader.close());
    view = visible((await loadCatalogue(gateway.root, { namespace, name: gatewayName }, reader)).snapshot, []);
  });
  const tool = (name: string, args?: unknown): number =>
    bytesAsked(view, { method: 'tools/call', params: { name, ...(args === undefined ? {} : { arguments: args }) } });
  const isAbout = (bytes: number, expected: number): void =>
    assert.ok(bytes > 0.9 * expected && bytes < 1.2 * expected, `${bytes} is not about ${expected}`);

  it('are those of the files that an install gives, and what each file costs besides', () => {
    isAbout(tool('install_skill', { skill: 'large' }), 100_000);
    isAbout(tool('install_skill', { skill: 'kata/large', version: '0.0.0' }), 100_000);
    assert.ok(tool('install_skill', { skill: 'many' }) > 2000 * 80);
  });

  it('are none of an install that is refused', () => {
    for (const args of [{ skill: 'huge' }, { skill: 'nothing' }, { skill: 'large', version: '9.0.0' }, {}, 'x', null]) {
      assert.equal(tool('install_skill', args), 0, JSON.stringify(args));
    }
    assert.equal(tool('install_rule', { rule: 'large' }), 0);
  });

  it('are those of a whole list', () => {
    isAbout(tool('list_skills'), 103 * 128 + 100 * 500);
    assert.equal(tool('list_rules'), 0);
  });

  it('are none of what is no request, or no such tool', () => {
    for (const body of [undefined, null, 7, [], {}, { method: 'tools/call' }, { method: 'tools/call', params: [] }]) {
      assert.equal(bytesAsked(view, body), 0);
    }
    for (const name of ['toString', '__proto__', 'skill_versions', 'no_such_tool']) {
      assert.equal(tool(name, { skill: 'large' }), 0, name);
    }
    assert.equal(bytesAsked(view, { method: 'tools/call', params: { name: 7 } }), 0);
  });
});
