// Which skills a source has: conventions, globs, dot folders, roots, links, groups.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { addresses, type Files, filePaths, harvested, messageOf, skillText, told } from './support.ts';

const skills = (...paths: string[]): Files =>
  Object.fromEntries(paths.map((path) => [path, skillText(path.split('/').at(-2) ?? 'root')]));

test('conventions find nested skills and those of clients, never a template at the root', async () => {
  const result = await harvested(
    skills(
      'skills/a/SKILL.md',
      'skills/g/h/b/SKILL.md',
      '.github/skills/c/SKILL.md',
      '.claude/skills/d/SKILL.md',
      '.agents/skills/e/SKILL.md',
      'SKILL.md',
      'template/SKILL.md',
      '.claude/skills/x/deep/SKILL.md',
    ),
  );
  assert.deepEqual(addresses(result), ['a', 'b', 'c', 'd', 'e']);
  assert.deepEqual(told(result), ['NotReached .claude', 'NotReached SKILL.md', 'NotReached template']);
  assert.equal(result.counts.discovered, 5);
});

test('.git and node_modules are never looked at, whatever a glob says', async () => {
  const files = skills('.git/skills/a/SKILL.md', 'x/node_modules/p/b/SKILL.md', 'c/SKILL.md');
  const result = await harvested(files, { include: { skills: ['**/SKILL.md', '.git/**', '**/node_modules/**'] } });
  assert.deepEqual(addresses(result), ['c']);
  assert.deepEqual(told(result), ['NothingMatched .', 'NothingMatched .']);
});

test('a list replaces the conventions, an empty one switches skills off without a complaint', async () => {
  const files = skills('skills/a/SKILL.md', 'plugins/p/b/SKILL.md');
  const listed = await harvested(files, { include: { skills: ['plugins/*/*/SKILL.md'] } });
  assert.deepEqual(addresses(listed), ['b']);
  assert.deepEqual(told(listed), ['NotReached skills']);
  const off = await harvested(files, { include: { skills: [] } });
  assert.deepEqual([addresses(off), told(off), off.counts.discovered], [[], [], 0]);
});

test('a glob that names a folder contributes every skill beneath', async () => {
  const files = skills('skills/a/SKILL.md', 'skills/g/b/SKILL.md', 'other/c/SKILL.md');
  for (const glob of ['skills', 'skills/*', 'skills/**', './skills/']) {
    assert.deepEqual(addresses(await harvested(files, { include: { skills: [glob] } })), ['a', 'b'], glob);
  }
});

test('a glob that matches nothing is told, and which', async () => {
  const result = await harvested(skills('skills/a/SKILL.md'), {
    include: { skills: ['skills/*', 'skils/*'], files: ['docs'] },
  });
  assert.deepEqual(told(result), ['NothingMatched .', 'NothingMatched .']);
  const messages = result.problems.map(({ message }) => message).join();
  assert.match(messages, /include\.skills has "skils\/\*"/);
  assert.match(messages, /include\.files has "docs"/);
});

test('a source in which the conventions find nothing at all says so', async () => {
  assert.deepEqual(told(await harvested({ 'README.md': 'x' })), ['NothingMatched .']);
  assert.deepEqual(told(await harvested({})), ['NothingMatched .']);
  assert.deepEqual(told(await harvested({ 'README.md': 'x' }, { include: { files: ['*.md'] } })), []);
});

test('SKILL.md files that no glob reaches are counted by top folder, the excluded not among them', async () => {
  const files = skills('x/a/SKILL.md', 'x/b/SKILL.md', 'y/c/SKILL.md', 'backups/d/SKILL.md', 'skills/e/SKILL.md');
  const result = await harvested(files, { exclude: ['backups/**'] });
  assert.deepEqual(told(result), ['NotReached x', 'NotReached y']);
  assert.match(messageOf(result, 'NotReached'), /^2 SKILL\.md/);
});

test('exclude holds for skills and for their files, by file and by folder', async () => {
  const files = {
    ...skills('skills/a/SKILL.md', 'skills/b/SKILL.md', 'skills/old/c/SKILL.md'),
    'skills/a/big.bin': 'x',
    'skills/a/t/1.md': 'x',
  };
  const result = await harvested(files, { exclude: ['skills/old', '**/*.bin', 'skills/*/t/**', 'skills/b/SKILL.md'] });
  assert.deepEqual(addresses(result), ['a']);
  assert.deepEqual(filePaths(result, 'a'), ['SKILL.md']);
  assert.deepEqual(told(result), []);
});

test('below a subdirectory everything is relative to it, problems start at the root, and **/SKILL.md counts too', async () => {
  const files = {
    ...skills(
      'packs/p/skills/a/SKILL.md',
      'packs/p/deep/b/SKILL.md',
      'packs/p/SKILL.md',
      'skills/outside/SKILL.md',
      'packs/pp/skills/x/SKILL.md',
    ),
    'packs/p/skills/bad/SKILL.md': '# none',
    'packs/p/docs/x.md': 'x',
  };
  const result = await harvested(files, { subdirectory: '/packs/p/', include: { files: ['docs/**'] } });
  assert.deepEqual(addresses(result), ['a', 'b', 'bad']);
  assert.deepEqual(
    result.files.map(({ path }) => path),
    ['docs/x.md'],
  );
  assert.equal(result.artifacts[0]!.folder, 'skills/a');
  assert.deepEqual(told(result), [
    'NoFrontmatter packs/p/skills/bad/SKILL.md:1',
    'NotAdvertised packs/p/skills/bad/SKILL.md:1',
    'NotReached packs/p/SKILL.md',
  ]);
});

test('a subdirectory that is not there is NotFound; one that leads out is an invalid spec', async () => {
  const files = skills('skills/a/SKILL.md');
  for (const subdirectory of ['gone', 'skills/a/SKILL.md', 'skill']) {
    await assert.rejects(
      harvested(files, { subdirectory }),
      { name: 'UpstreamFault', reason: 'NotFound' },
      subdirectory,
    );
  }
  await assert.rejects(harvested(files, { subdirectory: 'a/../..' }), { reason: 'InvalidSpec' });
});

test('a dot folder above the subdirectory hides nothing', async () => {
  assert.deepEqual(addresses(await harvested(skills('.x/.y/skills/a/SKILL.md'), { subdirectory: '.x/.y' })), ['a']);
});

test("clients' dot folders are visible, others where a glob names them", async () => {
  const files = skills(
    '.cursor/skills/a/SKILL.md',
    '.other/skills/b/SKILL.md',
    '.other/skills/c/SKILL.md',
    '.third/d/SKILL.md',
  );
  const wide = await harvested(files, { include: { skills: ['**/SKILL.md'] } });
  assert.deepEqual(addresses(wide), ['a']);
  assert.deepEqual(told(wide), ['HiddenFiles .other', 'HiddenFiles .third']);
  assert.match(messageOf(wide, 'HiddenFiles'), /2 SKILL\.md files/);
  const named = await harvested(files, { include: { skills: ['{.other,.third}/**/SKILL.md'] } });
  assert.deepEqual(addresses(named), ['b', 'c', 'd']);
});

test('a dot folder directly below a named skill root is part of the root', async () => {
  const result = await harvested(
    skills('skills/.curated/a/SKILL.md', 'skills/.curated/g/b/SKILL.md', 'skills/x/.deep/c/SKILL.md'),
  );
  assert.deepEqual(
    result.artifacts.map(({ address, group }) => [address, group]),
    [
      ['a', undefined],
      ['b', 'g'],
    ],
  );
  assert.deepEqual(told(result), ['HiddenFiles skills/x/.deep']);
});

test('the group is the folder right above the skill, unless that is a skill root', async () => {
  const result = await harvested(
    skills(
      'skills/a/SKILL.md',
      'skills/team-x/b/SKILL.md',
      'skills/g/h/c/SKILL.md',
      '.github/skills/d/SKILL.md',
      'e/SKILL.md',
      'skills/lib/f/SKILL.md',
    ),
    { include: { skills: ['**/SKILL.md'] } },
  );
  assert.deepEqual(Object.fromEntries(result.artifacts.map(({ address, group }) => [address, group])), {
    a: undefined,
    b: 'team-x',
    c: 'h',
    d: undefined,
    e: undefined,
    f: undefined,
  });
  assert.deepEqual(told(result), []);
});

test('a folder whose name is no group is told once, its skills belong to the library', async () => {
  const result = await harvested(
    skills('skills/My Team/a/SKILL.md', 'skills/My Team/b/SKILL.md', 'skills/a_b/c/SKILL.md'),
  );
  assert.deepEqual(
    result.artifacts.map(({ group }) => group),
    [undefined, undefined, undefined],
  );
  assert.deepEqual(told(result), ['GroupName skills/My Team', 'GroupName skills/a_b']);
});

test('a SKILL.md at the root counts when it is the only skill, and is named after the library', async () => {
  const files = { 'SKILL.md': '# no name', 'ref/x.md': 'x', '.github/workflows/ci.yml': 'x' };
  const result = await harvested(files, { library: 'pdf-tools' });
  assert.deepEqual(addresses(result), ['pdf-tools']);
  assert.deepEqual(filePaths(result, 'pdf-tools'), ['SKILL.md', 'ref/x.md']);
  assert.equal(result.artifacts[0]!.folder, '');
  assert.deepEqual(addresses(await harvested(files, { include: { skills: ['**/SKILL.md'] } })), ['lib']);
  assert.deepEqual(addresses(await harvested(files, { include: { skills: ['skills/*'] } })), []);
  assert.deepEqual(addresses(await harvested({ 'p/SKILL.md': '# x' }, { subdirectory: 'p' })), ['lib']);
});

test('beside other skills the root SKILL.md counts only where a glob names it', async () => {
  const files = skills('SKILL.md', 'skills/a/SKILL.md');
  const wild = await harvested(files, { include: { skills: ['**/SKILL.md'] } });
  assert.deepEqual(addresses(wild), ['a']);
  assert.deepEqual(told(wild), ['NotReached SKILL.md']);
  const named = await harvested(files, { include: { skills: ['skills/*', 'SKILL.md'] } });
  assert.deepEqual(addresses(named), ['a', 'root']);
  assert.deepEqual(filePaths(named, 'root'), ['SKILL.md', 'skills/a/SKILL.md']);
});

test('a SKILL.md in a skill root that holds other skills is rejected, alone it is a skill', async () => {
  const result = await harvested(
    { ...skills('skills/SKILL.md', 'skills/a/SKILL.md'), 'skills/README.md': 'r' },
    { include: { files: ['skills/*.md'] } },
  );
  assert.deepEqual(addresses(result), ['a']);
  assert.deepEqual(told(result), ['SkillRoot skills/SKILL.md']);
  assert.equal(result.problems[0]!.severity, 'error');
  assert.deepEqual([result.counts.discovered, result.counts.rejected], [2, 1]);
  assert.deepEqual(
    result.files.map(({ path }) => path),
    ['skills/README.md', 'skills/SKILL.md'],
  );
  const alone = await harvested({ 'skills/SKILL.md': '---\ndescription: d\n---\n' });
  assert.deepEqual(addresses(alone), ['skills']);
});

test('a skill inside a skill is one of its own, and its files belong to both', async () => {
  const files = { ...skills('skills/z/SKILL.md', 'skills/z/inner/SKILL.md'), 'skills/z/inner/x.md': 'x' };
  const result = await harvested(files);
  assert.deepEqual(addresses(result), ['inner', 'z']);
  assert.deepEqual(filePaths(result, 'z'), ['SKILL.md', 'inner/SKILL.md', 'inner/x.md']);
  assert.deepEqual(filePaths(result, 'inner'), ['SKILL.md', 'x.md']);
  assert.equal(result.fileCount, 3, 'a file in two manifests is one file');
});

test('other spellings of SKILL.md are accepted where there is no SKILL.md, and listed as that', async () => {
  const files = {
    ...skills('skills/y/Skill.md', 'skills/w/SKILL.md', 'skills/v/skill.MD'),
    'skills/w/skill.md': 'another file',
    'skills/y/a.md': 'a',
  };
  const result = await harvested(files);
  assert.deepEqual(addresses(result), ['v', 'w', 'y']);
  assert.deepEqual(filePaths(result, 'y'), ['SKILL.md', 'a.md']);
  assert.deepEqual(filePaths(result, 'w'), ['SKILL.md', 'skill.md']);
  assert.deepEqual(told(result), ['NameMended skills/v/skill.MD', 'NameMended skills/y/Skill.md']);
  assert.deepEqual(
    addresses(await harvested(files, { include: { skills: ['skills/y/Skill.md', 'skills/v/SKILL.md'] } })),
    ['v', 'y'],
  );
});

test('what a link shows of a harvested skill is not found a second time', async () => {
  const files: Files = {
    ...skills('skills/x/SKILL.md'),
    'skills/x/more.md': 'm',
    '.claude/skills': { link: '../skills' },
    '.agents/skills/x/SKILL.md': { link: '../../../skills/x/SKILL.md' },
    mirror: { link: 'skills' },
  };
  const result = await harvested(files, { include: { files: ['**/*'] } });
  assert.deepEqual(addresses(result), ['x']);
  assert.equal(result.artifacts[0]!.folder, 'skills/x');
  assert.equal(result.counts.discovered, 1);
  assert.deepEqual(told(result), []);
});

test('a skill whose real folder no glob reaches is found through its link, files and all', async () => {
  const files: Files = {
    ...skills('packages/x/SKILL.md'),
    'packages/x/a.md': 'a',
    'skills/x': { link: '../packages/x' },
    'skills/y': { link: '../packages/x' },
  };
  const result = await harvested(files);
  assert.deepEqual(addresses(result), ['x']);
  assert.equal(result.artifacts[0]!.folder, 'skills/x');
  assert.deepEqual(filePaths(result, 'x'), ['SKILL.md', 'a.md']);
  assert.equal(result.counts.discovered, 1);
  assert.deepEqual(told(result), []);
});

test('a real skill goes before a linked one, though its convention comes later', async () => {
  const files: Files = { ...skills('.claude/skills/x/SKILL.md'), 'skills/x': { link: '../.claude/skills/x' } };
  assert.equal((await harvested(files)).artifacts[0]!.folder, '.claude/skills/x');
});

test('links that escape or lead nowhere are told where the harvest looks, and nowhere else', async () => {
  const files: Files = {
    ...skills('p/skills/a/SKILL.md'),
    'p/skills/a/out': { link: '../../../../etc' },
    'p/skills/b/SKILL.md': { link: 'gone' },
    'p/old/gone': { link: 'gone' },
    'elsewhere/gone': { link: 'gone' },
    'p/node_modules/gone': { link: 'gone' },
    'p/.hidden/skills/a/gone': { link: 'gone' },
    'p/.hidden/out': { link: '../../../out' },
    'p/shared': { link: '../shared' },
    'shared/s.md': 's',
  };
  const result = await harvested(files, { subdirectory: 'p', exclude: ['old'], include: { files: ['shared/**'] } });
  assert.deepEqual(addresses(result), ['a']);
  assert.deepEqual(
    result.files.map(({ path }) => path),
    ['shared/s.md'],
  );
  assert.deepEqual(told(result), ['LinkBroken p/skills/b', 'LinkEscapes p/skills/a/out']);
});

test('none of the five skill roots is a group', async () => {
  const result = await harvested(
    skills('.agents/skills/a/SKILL.md', '.claude/skills/b/SKILL.md', '.github/skills/c/SKILL.md', 'skills/d/SKILL.md'),
  );
  assert.deepEqual(
    result.artifacts.map(({ address, group }) => [address, group]),
    ['a', 'b', 'c', 'd'].map((address) => [address, undefined]),
  );
  const [root] = (await harvested(skills('e/SKILL.md'), { include: { skills: ['*/SKILL.md'] } })).artifacts;
  assert.deepEqual([root!.address, root!.group], ['e', undefined]);
});

test('a glob that no spec may have leads out of nothing', async () => {
  const files: Files = { ...skills('p/skills/a/SKILL.md', 'skills/b/SKILL.md'), 'secret.md': 's' };
  const out = ['../**', '../*.md', 'skills/../../**', '/**', '/etc/*', '../skills/b/SKILL.md'];
  const inside = { skills: ['skills/*', ...out], prompts: out, rules: out, profiles: out, files: out };
  const result = await harvested(files, { subdirectory: 'p', include: inside });
  assert.deepEqual(
    result.artifacts.map(({ folder }) => folder),
    ['skills/a'],
  );
  assert.deepEqual(result.files, []);
});

test('a link out of the source is in no manifest and is no file of the pack', async () => {
  const files: Files = {
    ...skills('skills/a/SKILL.md'),
    'skills/a/kept.md': 'k',
    'skills/a/passwd': { link: '../../../etc/passwd' },
    'skills/a/folder': { link: '/etc' },
    'shared/a.md': 'a',
    'shared/out.md': { link: '../../out.md' },
  };
  const result = await harvested(files, { include: { files: ['shared/**'] } });
  assert.deepEqual(filePaths(result, 'a'), ['SKILL.md', 'kept.md']);
  assert.deepEqual(
    result.files.map(({ path }) => path),
    ['shared/a.md'],
  );
  assert.deepEqual(told(result), [
    'LinkEscapes shared/out.md',
    'LinkEscapes skills/a/folder',
    'LinkEscapes skills/a/passwd',
  ]);
});
