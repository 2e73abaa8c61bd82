import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { test } from 'node:test';
import { type Claimant, resolveAddresses } from '../../operator/gateway/addresses.ts';

const skill = (name: string, folder = `skills/${name}`, address = name) => ({ kind: 'skill', address, name, folder });
const claimant = (
  name: string,
  artifacts: ReturnType<typeof skill>[],
  files: string[] = [],
  library = 'tools',
): Claimant => ({
  name,
  library,
  addresses: { artifacts, files },
});

test('two sources with one skill name: the older keeps the address, the other moves below <source>--<folder>', () => {
  const { moves, conflicts } = resolveAddresses([
    claimant('old', [skill('loki')]),
    claimant('young', [skill('loki', 'packs/Grafana LGTM/loki'), skill('other')]),
  ]);
  assert.deepEqual(moves.get('old'), undefined);
  assert.deepEqual(moves.get('young'), [{ kind: 'skill', from: 'loki', to: 'young--packs-grafana-lgtm-loki/loki' }]);
  assert.deepEqual(conflicts, [
    { address: 'tools/loki', source: 'young', movedTo: 'tools/young--packs-grafana-lgtm-loki/loki' },
  ]);
});

test('prompts, rules and profiles move as skills do, each with the address that people see in its row', () => {
  const of = (kind: string, name: string, folder: string) => ({ kind, address: name, name, folder });
  const kinds = [
    of('prompt', 'review', 'prompts/review'),
    of('rule', 'style', 'rules/style'),
    of('profile', 'ann', 'agents/ann'),
  ];
  const { moves, conflicts } = resolveAddresses([
    claimant('old', [skill('style'), ...kinds]),
    claimant('young', kinds),
  ]);
  assert.deepEqual(moves.get('young'), [
    { kind: 'prompt', from: 'review', to: 'young--prompts-review_review' },
    { kind: 'rule', from: 'style', to: 'young--rules-style/style' },
    { kind: 'profile', from: 'ann', to: 'young--agents-ann/ann' },
  ]);
  assert.deepEqual(conflicts, [
    { address: 'tools_review', source: 'young', movedTo: 'tools_young--prompts-review_review' },
    { address: 'tools/_rules/style', source: 'young', movedTo: 'tools/_rules/young--rules-style/style' },
    { address: 'tools/_profiles/ann', source: 'young', movedTo: 'tools/_profiles/young--agents-ann/ann' },
  ]);
});

test('a prompt that an author called like a moved one keeps its name, the moved one gets another', () => {
  const prompt = (address: string, folder: string) => ({ kind: 'prompt', address, name: address, folder });
  const taken = 'young--prompts-x_x';
  const { moves } = resolveAddresses([
    claimant('old', [prompt('x', 'prompts/x'), prompt(taken, `prompts/${taken}`)]),
    claimant('young', [prompt('x', 'prompts/x')]),
  ]);
  const hash = createHash('sha256').update('prompts/x').digest('hex');
  assert.deepEqual(moves.get('young'), [{ kind: 'prompt', from: 'x', to: `young--prompts-x-${hash.slice(0, 8)}_x` }]);
  const all = [taken, `young--prompts-x-${hash.slice(0, 8)}_x`, `young--prompts-x-${hash}_x`];
  const long = resolveAddresses([
    claimant(
      'old',
      ['x', ...all.slice(0, 2)].map((name) => prompt(name, name)),
    ),
    claimant('young', [prompt('x', 'prompts/x')]),
  ]);
  assert.deepEqual(long.moves.get('young'), [{ kind: 'prompt', from: 'x', to: all[2] }]);
  const full = resolveAddresses([
    claimant(
      'old',
      ['x', ...all].map((name) => prompt(name, name)),
    ),
    claimant('young', [prompt('x', 'prompts/x')]),
  ]);
  assert.deepEqual(full.moves.get('young'), [{ kind: 'prompt', from: 'x' }]);
  assert.deepEqual(full.conflicts, [{ address: 'tools_x', source: 'young' }]);
});

test('the same name in two libraries is no conflict', () => {
  const { moves, conflicts } = resolveAddresses([
    claimant('one', [skill('loki')], [], 'a'),
    claimant('two', [skill('loki')], [], 'b'),
  ]);
  assert.equal(moves.size, 0);
  assert.deepEqual(conflicts, []);
});

test('several versions of one artifact share an address without a conflict', () => {
  assert.deepEqual(resolveAddresses([claimant('one', [skill('loki'), skill('loki')])]).conflicts, []);
});

test('a pack file at or below a skill of any source is rejected, however old its source', () => {
  const { moves, conflicts } = resolveAddresses([
    claimant('old', [], ['shared/guide.md', 'shared', 'other/guide.md']),
    claimant('young', [skill('shared')]),
  ]);
  assert.deepEqual(moves.get('old'), [
    { kind: 'file', from: 'shared/guide.md' },
    { kind: 'file', from: 'shared' },
  ]);
  assert.deepEqual(conflicts, [
    { address: 'tools/shared/guide.md', source: 'old' },
    { address: 'tools/shared', source: 'old' },
  ]);
});

test('of two pack files with one address the older stays and the other is rejected', () => {
  const { moves } = resolveAddresses([claimant('old', [], ['a.md']), claimant('young', [], ['a.md'])]);
  assert.deepEqual(moves.get('young'), [{ kind: 'file', from: 'a.md' }]);
});

test('where a folder gives no slug, or one that is in use, eight hex digits of its path tell artifacts apart', () => {
  const hex = (path: string): string => createHash('sha256').update(path).digest('hex').slice(0, 8);
  const { moves } = resolveAddresses([
    claimant('old', [skill('x')]),
    claimant('young', [skill('x', 'ÄÖ/日本'), skill('x', 'a b/x', 'young--a-b-x/x')]),
    claimant('third', [skill('x', '日本')]),
  ]);
  assert.deepEqual(moves.get('third'), [{ kind: 'skill', from: 'x', to: `third--${hex('日本')}/x` }]);
  assert.deepEqual(moves.get('young'), [{ kind: 'skill', from: 'x', to: 'young--ao/x' }]);
});
