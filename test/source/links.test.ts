// Symbolic links: followed inside the source, refused outside, bounded whatever they unfold to.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { resolveLinks } from '../../operator/source/links.ts';
import type { TreeEntry } from '../../operator/source/source.ts';
import { UpstreamFault } from '../../upstream/fault.ts';
import { processorTime } from '../fixtures/processor-time.ts';

const file = (path: string): TreeEntry => ({ path, id: `id of ${path}` });
const link = (path: string, target: string): TreeEntry => ({ path, link: target });

async function seen(...entries: TreeEntry[]) {
  const { entries: resolved, problems } = await resolveLinks(entries);
  return {
    files: Object.fromEntries(resolved.map(({ path, realPath }) => [path, realPath ?? 'real'])),
    problems: problems.map(({ reason, path }) => `${reason} ${path}`).sort(),
    messages: problems.map(({ message }) => message),
    resolved,
  };
}

test('a link to a file is that file under the name of the link', async () => {
  const { files, resolved, problems } = await seen(file('skills/a/CLAUDE.md'), link('AGENTS.md', 'skills/a/CLAUDE.md'));
  assert.deepEqual(files, { 'AGENTS.md': 'skills/a/CLAUDE.md', 'skills/a/CLAUDE.md': 'real' });
  assert.equal(resolved.find(({ path }) => path === 'AGENTS.md')?.id, 'id of skills/a/CLAUDE.md');
  assert.deepEqual(problems, []);
});

test('a link to a folder shows everything in it, links in it followed', async () => {
  const { files, problems } = await seen(
    file('shared/deep/a.md'),
    file('shared/b.md'),
    link('shared/c.md', 'b.md'),
    link('skills/x', '../shared'),
  );
  assert.deepEqual(files, {
    'shared/deep/a.md': 'real',
    'shared/b.md': 'real',
    'shared/c.md': 'shared/b.md',
    'skills/x/deep/a.md': 'shared/deep/a.md',
    'skills/x/b.md': 'shared/b.md',
    'skills/x/c.md': 'shared/b.md',
  });
  assert.deepEqual(problems, []);
});

test('a target is walked as the kernel walks it: `..` after a link leaves the folder the link leads to', async () => {
  const { files } = await seen(file('a/b/x.md'), file('a/y.md'), link('short', 'a/b'), link('up', 'short/../y.md'));
  assert.equal(files.up, 'a/y.md');
});

test('a chain of links ends at the real file', async () => {
  const { files } = await seen(file('z.md'), link('a', 'b'), link('b', 'c'), link('c', './z.md'));
  assert.deepEqual(files, { 'z.md': 'real', a: 'z.md', b: 'z.md', c: 'z.md' });
});

test('a link that leaves the source is refused by name, the rest goes on', async () => {
  const { files, problems } = await seen(
    file('skills/a/SKILL.md'),
    link('skills/a/passwd', '../../../etc/passwd'),
    link('skills/a/hosts', '/etc/hosts'),
    link('round', 'skills/../../inside/round'),
  );
  assert.deepEqual(Object.keys(files), ['skills/a/SKILL.md']);
  assert.deepEqual(problems, ['LinkEscapes round', 'LinkEscapes skills/a/hosts', 'LinkEscapes skills/a/passwd']);
});

test('broken links and circles are counted by folder', async () => {
  const { files, problems, messages } = await seen(
    file('skills/a/SKILL.md'),
    link('skills/a/gone', 'nowhere.md'),
    link('skills/a/self', 'self'),
    link('skills/a/up', '..'),
    link('skills/a/through', 'SKILL.md/x'),
    link('ping', 'pong'),
    link('pong', 'ping'),
  );
  assert.deepEqual(Object.keys(files), ['skills/a/SKILL.md']);
  assert.deepEqual(problems, ['LinkBroken .', 'LinkBroken skills/a']);
  assert.ok(
    messages.some((message) => message.startsWith('4 links') && message.includes('"gone"')),
    messages.join(),
  );
});

test('folders that link to each other are shown once in each other', async () => {
  const { files } = await seen(file('a/1.md'), file('b/2.md'), link('a/to-b', '../b'), link('b/to-a', '../a'));
  assert.deepEqual(Object.keys(files).sort(), ['a/1.md', 'a/to-b/2.md', 'b/2.md', 'b/to-a/1.md']);
});

test('the same entries in any order give the same result', async () => {
  const entries = [file('s/a.md'), link('l', 's'), link('m/n', '../l/a.md'), link('s/x', '../gone'), file('m/o.md')];
  const sortedOf = async (list: TreeEntry[]) => {
    const { files, problems } = await seen(...list);
    return [Object.entries(files).sort(), problems];
  };
  assert.deepEqual(await sortedOf(entries), await sortedOf(entries.toReversed()));
});

test('links that unfold to ten billion entries fail at once', async () => {
  const entries: TreeEntry[] = [file('d0/file.md')];
  for (let level = 1; level <= 10; level++) {
    for (let at = 0; at < 10; at++) entries.push(link(`d${level}/${at}`, `../d${level - 1}`));
  }
  const spent = processorTime();
  await assert.rejects(resolveLinks(entries), (fault: UpstreamFault) => {
    assert.ok(fault instanceof UpstreamFault);
    assert.equal(fault.reason, 'LimitExceeded');
    return true;
  });
  assert.ok(spent() < 3000);
});

test('links that all lead in circles fail at once as well', async () => {
  const names = Array.from({ length: 12 }, (_, at) => `d${at}`);
  const entries = names.flatMap((from) => names.map((to) => link(`${from}/${to}`, `../${to}`)));
  const spent = processorTime();
  await assert.rejects(resolveLinks(entries), { reason: 'LimitExceeded' });
  assert.ok(spent() < 3000);
});

test('folders that each hold nothing but a link to the next end as a path that is too deep', async () => {
  const name = (at: number) => `f${String(at).padStart(5, '0')}`;
  const entries = Array.from({ length: 20_000 }, (_, at) => link(`${name(at)}/a`, `../${name(at + 1)}`));
  await assert.rejects(resolveLinks(entries), { reason: 'LimitExceeded', message: /64 folders deep/ });
});

test('long targets in long chains fail soon, and nothing else is held up meanwhile', async () => {
  const entries = Array.from({ length: 2000 }, (_, at) => link(`d/${at}`, `${'./'.repeat(2040)}${(at + 1) % 2000}`));
  let turns = 0;
  const timer = setInterval(() => turns++, 1);
  const spent = processorTime();
  await assert.rejects(resolveLinks(entries), { reason: 'LimitExceeded', message: /10000000 parts/ });
  clearInterval(timer);
  assert.ok(spent() < 3000);
  assert.ok(turns > 3, `${turns} turns`);
});

test('a path that links make too deep or too long is refused', async () => {
  const deep = 'd/'.repeat(40);
  await assert.rejects(resolveLinks([file(`${deep}f`), link(`${'e/'.repeat(40)}l`, `${'../'.repeat(40)}d`)]), {
    reason: 'LimitExceeded',
    message: /64 folders deep/,
  });
  const name = 'n'.repeat(200);
  await assert.rejects(
    resolveLinks([
      file(`${name}/${name}/${name}/f`),
      link(`${'m'.repeat(200)}/${'o'.repeat(300)}`, `../${name}`),
      link(`${'p'.repeat(250)}/${'q'.repeat(250)}/${'r'.repeat(250)}`, `../../${name}`),
    ]),
    {
      reason: 'LimitExceeded',
      message: /1024 bytes/,
    },
  );
});

test('unfit names are left out where they stand, the rest is resolved', async () => {
  const { files, problems } = await seen(
    file('ok.md'),
    file('a\\b.md'),
    file('...'),
    file('x/../y'),
    file('n\nl'),
    link('l', '...'),
  );
  assert.deepEqual(files, { 'ok.md': 'real', '...': 'real', l: '...' });
  assert.deepEqual(problems, ['BadFileName a\\b.md', 'BadFileName n\\u000al', 'BadFileName x/../y']);
});
