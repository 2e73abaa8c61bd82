// A large catalogue on the pages: what the first answer weighs, and that a search is an answer while somebody types.
import assert from 'node:assert/strict';
import { before, it } from 'node:test';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { lifetime, type SkillFixture, serveCatalogue } from '../server/support/gateway.ts';

const many = 10_000;
const suite = lifetime();
let origin = '';

setFlagsFromString('--expose-gc');
const collectGarbage = runInNewContext('gc') as () => void;

function heapUsed(): number {
  collectGarbage();
  return process.memoryUsage().heapUsed;
}

before(async () => {
  const skills = Array.from(
    { length: many },
    (_, at): SkillFixture => ({
      address: `skill-${at}`,
      description: `Skill number ${at} of a large catalogue, with as many words as people write: what it does, and when to use it.`,
      tags: [`lang:l${at % 50}`, at % 3 === 0 ? 'fizz' : 'plain'],
      files: { 'SKILL.md': 'The same text for all.\n' },
    }),
  );
  const libraries = Array.from({ length: 10 }, (_, library) => ({
    name: `library-${library}`,
    skills: skills.filter((_, at) => at % 10 === library),
  }));
  origin = (await serveCatalogue(suite, { sources: libraries })).url;
});

it('the first answer of each list is below 100 KB', async () => {
  for (const path of ['/', '/skills', '/libraries', '/?q=skill', '/?q=lang:l7']) {
    const bytes = await (await fetch(origin + path)).bytes();
    assert.ok(bytes.length < 100_000, `${path}: ${bytes.length} bytes`);
  }
});

it('a search finds among all of them, and is much faster than somebody types', async () => {
  const find = async (query: string): Promise<{ total: number }> =>
    (await (await fetch(`${origin}/search.json?q=${encodeURIComponent(query)}`)).json()) as { total: number };
  // Its index is made by the first.
  await find('x');
  assert.equal((await find('lang:l7')).total, many / 50);
  assert.equal((await find('fizz')).total, Math.ceil(many / 3));
  assert.equal((await find('skill-9999')).total, 1);
  const typed = ['s', 'sk', 'ski', 'skil', 'skill', 'skill n', 'skill number 99', 'nothing at all'];
  const times: number[] = [];
  for (const query of typed) {
    const began = performance.now();
    await find(query);
    times.push(performance.now() - began);
  }
  const median = times.sort((a, b) => a - b)[typed.length >> 1]!;
  assert.ok(median < 100, `${times.map(Math.round)} ms`);
});

it('many scopes of it take little memory each: what its artifacts are called is kept once', async () => {
  const all = Array.from({ length: 10 }, (_, at) => `library-${at}`);
  const pairs = all.flatMap((one, at) => all.slice(at + 1).map((other) => [one, other]));
  const overviewWithout = async (left: string[]): Promise<void> => {
    const tags = all.filter((name) => !left.includes(name)).join(',');
    const html = await (await fetch(`${origin}/?tags=${tags}`)).text();
    assert.match(html, /8000 skills/);
  };
  await overviewWithout(pairs.pop()!);
  const before = heapUsed();
  for (const pair of pairs) await overviewWithout(pair);
  const each = (heapUsed() - before) / pairs.length;
  assert.ok(each < 400_000, `${Math.round(each)} bytes each`);
});

it('the overview stays below 100 KB where its texts are as long as they may be, in a script of many bytes', async () => {
  const long = (length: number): string => '界'.repeat(length);
  const sources = Array.from({ length: 20 }, (_, at) => ({
    name: `library-${String(at).padStart(2, '0')}-${'x'.repeat(40)}`,
    skills: Array.from(
      { length: 40 },
      (_, skill): SkillFixture => ({
        address: `skill-${at}-${skill}-${'y'.repeat(50)}`,
        description: long(2000),
        group: `group-${skill}-${'z'.repeat(50)}`,
        version: `1.0.0-${'a'.repeat(40)}`,
        tags: Array.from({ length: 20 }, (_, tag) => long(20) + tag),
      }),
    ),
  }));
  const libraries = sources.map(({ name }) => ({ name, title: long(100), description: long(500) }));
  const { url } = await serveCatalogue(suite, { sources, libraries });
  for (const path of ['/', '/skills']) {
    const bytes = await (await fetch(url + path)).bytes();
    assert.ok(bytes.length < 100_000, `${path}: ${bytes.length} bytes`);
  }
});
