// Every kind of artifact on its way from a source to what servers read.
import assert from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { eventually } from '../fixtures/eventually.ts';
import { GitFixture } from '../fixtures/git-repository.ts';
import { startGitServer } from '../fixtures/git-server.ts';
import { OperatorFixture, skillText } from '../fixtures/operator.ts';

const plugin = { name: 'tools', source: './plugins/tools' };

test('all kinds are published and counted; a change costs what changed, the manifest of plugins is not fetched again', async () => {
  const root = await mkdtemp(join(tmpdir(), 'lyceum-kinds-'));
  const git = await startGitServer({ root });
  try {
    await using operator = await OperatorFixture.start();
    const repository = await GitFixture.create(join(root, 'pack.git'));
    // So large and so varied that its bytes would be seen on the way.
    const padding = Array.from({ length: 20_000 }, (_, at) => ((at * 2654435761) % 2 ** 32).toString(36)).join();
    const files = {
      '.claude-plugin/marketplace.json': JSON.stringify({ padding, plugins: [plugin] }),
      'plugins/tools/skills/one/SKILL.md': skillText('one'),
      'plugins/tools/commands/ship.md': 'Ship $ARGUMENTS.',
      'AGENTS.md': '# Agents',
      'agents/ann.md': '---\nname: Ann\n---\nx',
    };
    await repository.commitFiles(files);
    const spec = { url: git.sourceUrl('pack.git') };
    operator.cluster.source('pack', { spec });
    operator.cluster.gateway('agents');
    const status = () => operator.cluster.status('sources', 'pack');
    await eventually('the catalogue', status, (told) => told?.counts?.skills === 1);
    const { skills, prompts, rules, profiles, discovered, problems } = status().counts;
    assert.deepEqual([skills, prompts, rules, profiles, discovered, problems], [1, 1, 1, 1, 4, 0]);
    assert.match(status().conditions[0].message, /^Serving 1 skill, 1 prompt, 1 rule, 1 profile$/);
    const published = await eventually(
      'the gateway',
      () => operator.catalogue('pack'),
      (catalogue) => catalogue !== undefined,
    );
    assert.deepEqual(
      published!.artifacts.map(({ kind, address, group, prompt }) => [kind, address, group, prompt?.dialect]),
      [
        ['skill', 'one', 'tools', undefined],
        ['prompt', 'ship', undefined, 'claude'],
        ['rule', 'agents', undefined, undefined],
        ['profile', 'ann', undefined, undefined],
      ],
    );
    assert.equal((await operator.read('pack', 'ship', 'ship.md')).toString(), 'Ship $ARGUMENTS.');

    const text = () => operator.read('pack', 'ship', 'ship.md').then(String);
    for (const change of ['Ship it.', 'Ship it soon.']) {
      git.exchanges.length = 0;
      await repository.commitFiles({ ...files, 'plugins/tools/commands/ship.md': change });
      operator.cluster.source('pack', { spec, annotations: { 'lyceum.dev/requestedAt': change } });
      await eventually('the change', text, (is) => is === change, 15);
      const bytes = git.exchanges.reduce((sum, { bytesOut }) => sum + bytesOut, 0);
      assert.ok(bytes < 16_384, `${bytes} bytes`);
    }
    assert.equal(status().counts.skills, 1);
  } finally {
    await git.close();
    await rm(root, { recursive: true, force: true });
  }
});
