// Repositories whose content does harm: frontmatter, trees, links, sizes, references.
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { GitFixture, git, type RawTreeItem } from '../../fixtures/git-repository.ts';
import { startGitServer } from '../../fixtures/git-server.ts';
import { skillText } from '../../fixtures/operator.ts';
import type { Fate, HostileSource, HostileSources } from './case.ts';

const anchors = ['a: &a0 [x, x, x, x, x, x, x, x, x]'];
for (let level = 1; level < 9; level++) {
  anchors.push(
    `l${level}: &a${level} [${Array(9)
      .fill(`*a${level - 1}`)
      .join(', ')}]`,
  );
}

const frontmatter: Record<string, string> = {
  'skills/marked/SKILL.md': '\ufeff---\r\nname: marked\r\ndescription: With a mark.\r\n---\r\nText.\r\n',
  'skills/colon/SKILL.md': '---\nname: colon\ndescription: Use when: the user asks\n---\n',
  'skills/hash/SKILL.md': '---\nname: hash\ndescription: Port C to F # later\n---\n',
  'skills/runs/SKILL.md': '---js\nprocess.exit(7)\n---\n',
  'skills/bomb/SKILL.md': `---\nname: bomb\ndescription: d\n${anchors.join('\n')}\n__proto__: {x: 1}\n---\n`,
  'skills/rules/SKILL.md': '---\nname: rules\ndescription: |\n  First.\n  ---\n  Last.\n---\nBody.\n\n---\n\nMore.\n',
  'skills/nested/SKILL.md': `---\nname: nested\ndescription: d\nx: ${'[{'.repeat(380)}\n---\n`,
};

const files = (more: Record<string, string>): Record<string, string> => ({
  'skills/good/SKILL.md': skillText('good'),
  ...more,
});

type Made = (repo: GitFixture) => Promise<Omit<HostileSource, 'name' | 'what' | 'url'>>;

const committed =
  (content: Parameters<GitFixture['commitFiles']>[0], fate: Fate): Made =>
  async (repo) => {
    await repo.commitFiles(content);
    return { fate };
  };

const repositories: Record<string, Made> = {
  'frontmatter of every bad sort': committed(files(frontmatter), {
    skills: 8,
    tells: ['LenientYaml'],
    described: { marked: 'With a mark.', colon: 'Use when: the user asks', rules: 'First. --- Last.' },
  }),
  'links inside, outside, and to themselves': committed(
    {
      'real/SKILL.md': skillText('linked'),
      'skills/linked/SKILL.md': { link: '../../real/SKILL.md' },
      'skills/good/SKILL.md': skillText('good'),
      'skills/good/passwd': { link: '../../../../../../etc/passwd' },
      'skills/good/self': { link: 'self' },
    },
    { skills: 2, tells: ['LinkEscapes', 'LinkBroken'] },
  ),
  'names that are none, beside good ones': async (repo) => {
    const oid = await repo.blob('x');
    const bad: RawTreeItem[] = ['...', 'a\\b.md', 'ok.md'].map((name) => ({ mode: '100644', name, oid }));
    const skill = await repo.blob(skillText('good'));
    const good = await repo.rawTree(
      [...bad, { mode: '100644', name: 'SKILL.md', oid: skill }].sort((a, b) => (a.name < b.name ? -1 : 1)),
    );
    const skills = await repo.rawTree([{ mode: '40000', name: 'good', oid: good }]);
    await repo.reference(
      'refs/heads/main',
      await repo.commit(await repo.rawTree([{ mode: '40000', name: 'skills', oid: skills }])),
    );
    return { fate: { skills: 1, tells: ['BadFileName'] } };
  },
  'odd modes, and a submodule without a name': committed(
    {
      'skills/good/SKILL.md': skillText('good'),
      module: { submodule: '1'.repeat(40) },
    },
    { skills: 1, tells: ['Submodule'] },
  ),
  'a tree of ten billion entries in a kilobyte': async (repo) => {
    const oid = await repo.blob('x');
    const ten = (name: string, mode: string, below: string) =>
      repo.rawTree(Array.from({ length: 10 }, (_, index) => ({ mode, name: `${name}${index}`, oid: below })));
    let tree = await ten('f', '100644', oid);
    for (let level = 0; level < 9; level++) tree = await ten('d', '40000', tree);
    await repo.reference('refs/heads/main', await repo.commit(tree));
    return { fate: 'LimitExceeded' };
  },
  'a file of 1.5 GB beside a SKILL.md': async (repo) => {
    const oid = await repo.blobOfZeros(1536);
    await repo.commitFiles({ 'skills/good/SKILL.md': skillText('good'), 'skills/good/zeros': { mode: '100644', oid } });
    return { fate: { skills: 1, tells: ['TooLarge'] } };
  },
  'more bytes than may be': async (repo) => {
    const content: Record<string, Buffer> = {};
    for (let index = 0; index < 70; index++) content[`skills/s/f${index}`] = Buffer.alloc(4 * 2 ** 20, index);
    await git(['config', 'pack.window', '0'], repo.folder);
    await repo.commitFiles({ 'skills/s/SKILL.md': skillText('s'), ...content });
    return { fate: 'LimitExceeded' };
  },
  'a branch and a tag of one name, and a tag of a tag': async (repo) => {
    const tagged = await repo.commitFiles(files({ 'skills/tag/SKILL.md': skillText('tag') }), {
      reference: 'refs/heads/other',
    });
    await repo.reference('refs/tags/main', await repo.tag(await repo.tag(tagged, 'inner'), 'main', 'tag'));
    await repo.commitFiles(files({}));
    return { spec: { ref: 'main' }, fate: { skills: 1 } };
  },
  'a pin on a commit that is not there': async (repo) => {
    await repo.commitFiles(files({}));
    return { spec: { ref: '1'.repeat(40) }, fate: 'NotFound' };
  },
  'names that are almost the same': committed(
    {
      'skills/x/SKILL.md': skillText('x'),
      '.cursor/skills/x/SKILL.md': skillText('x'),
      'skills/y/Skill.md': skillText('y'),
      'skills/z/SKILL.md': skillText('z'),
      'skills/z/inner/SKILL.md': skillText('z'),
      'skills/z/\u00a0': 'a blank',
      'skills/z/SKILL (1).md': 'a copy',
      'skills/z/caf\u00e9.md': 'one',
      'skills/z/cafe\u0301.md': 'another',
    },
    { skills: 4 },
  ),
};

export async function hostileRepositories(): Promise<HostileSources> {
  const root = await mkdtemp(join(tmpdir(), 'lyceum-hostile-git-'));
  const server = await startGitServer({ root });
  const sources: HostileSource[] = [];
  for (const [what, make] of Object.entries(repositories)) {
    const name = `repository-${sources.length}`;
    const made = await make(await GitFixture.create(join(root, `${name}.git`)));
    sources.push({ name, what, url: server.sourceUrl(`${name}.git`), ...made });
  }
  return {
    sources,
    [Symbol.asyncDispose]: async () => {
      await server.close();
      await rm(root, { recursive: true, force: true });
    },
  };
}
