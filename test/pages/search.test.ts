// The search of the catalogue page: what it finds, what comes first, and what it refuses.
import assert from 'node:assert/strict';
import { before, describe, it } from 'node:test';
import { type CatalogueFixture, lifetime, serveCatalogue } from '../server/support/gateway.ts';

const suite = lifetime();
let origin = '';

const catalogue: CatalogueFixture = {
  sources: [
    {
      name: 'tools',
      skills: [
        { address: 'go-tests', description: 'Write table tests.', tags: ['lang:go', 'testing'] },
        { address: 'testing-in-anger', description: 'Go looking for what breaks.', tags: ['Quality'] },
        { address: 'zen', description: 'Testing patience, mostly.', tags: [] },
        { address: 'all-three', description: 'All three places say three.', tags: ['three'] },
        { address: 'reads-tags', description: 'Nothing else.', tags: ['lang:golang'] },
        {
          address: 'many-tags',
          description: 'For those who write as they like.',
          tags: ['lang:rust', 'lang: go', 'two words', ': odd'],
        },
      ],
      rules: [{ address: 'naming', description: 'How tests are named.' }],
      profiles: [{ address: 'tester', description: 'Breaks things.' }],
      prompts: [{ address: 'plan', description: 'Plan a release.', text: 'Plan.' }],
    },
    {
      name: 'other',
      tags: ['hidden'],
      skills: [{ address: 'go-elsewhere', description: 'In another library.', tags: ['lang:go'] }],
    },
  ],
};

before(async () => {
  origin = (await serveCatalogue(suite, catalogue)).url;
});

interface Found {
  total: number;
  results: { kind: string; name: string; library: string; href: string }[];
}

const find = async (query: string, more = ''): Promise<Found> =>
  (await (await fetch(`${origin}/search.json?q=${encodeURIComponent(query)}${more}`)).json()) as Found;

const names = async (query: string, more?: string): Promise<string[]> =>
  (await find(query, more)).results.map(({ name }) => name);

describe('what is found', () => {
  it('a word stands anywhere in a name, a tag or a description, in any case', async () => {
    assert.deepEqual((await names('TEST')).sort(), ['go-tests', 'naming', 'tester', 'testing-in-anger', 'zen']);
    assert.deepEqual(await names('qual'), ['testing-in-anger']);
  });

  it('all words must be found, each wherever it is', async () => {
    assert.deepEqual(await names('go tests table'), ['go-tests']);
    assert.deepEqual(await names('go nothing-of-the-kind'), []);
    assert.deepEqual(await names('  go \t tests  '), ['go-tests'], 'blanks around words mean nothing');
  });

  it('a word with a colon is a whole tag, in any case; not a part of one, a name or a description', async () => {
    assert.deepEqual((await names('lang:go')).sort(), ['go-elsewhere', 'go-tests']);
    assert.deepEqual((await names('LANG:Go')).sort(), ['go-elsewhere', 'go-tests']);
    assert.deepEqual(await names('lang:'), []);
    assert.deepEqual(await names('lang:go table'), ['go-tests']);
  });

  it('a tag that a page links to is found; one of several words with a colon is no link', async () => {
    const html = await (await fetch(`${origin}/skills/many-tags`)).text();
    const tags = [...html.matchAll(/href="(\/\?q=[^"]*)"/g)].map(([, href]) => href!);
    assert.deepEqual(tags, ['/?q=lang%3Arust', '/?q=two+words', '/?q=%3A+odd']);
    for (const href of tags) assert.match(await (await fetch(origin + href)).text(), /1 result for/, href);
    assert.match(html, /<li>lang: go<\/li>/);
  });

  it('every kind is found, each with its page', async () => {
    const { results } = await find('naming');
    assert.deepEqual(
      results.map(({ kind, href }) => [kind, href]),
      [['rule', '/rules/naming']],
    );
    assert.deepEqual((await find('tester')).results[0]?.href, '/profiles/tester');
    assert.deepEqual((await find('tools_plan')).results[0]?.href, '/prompts/tools_plan');
  });

  it('the best come first: a name 100, a tag 50, a description 25, added up; what is equal by name', async () => {
    // go-tests 100+50, naming 25, tester 100, testing-in-anger 100, zen 25.
    assert.deepEqual(await names('test'), ['go-tests', 'tester', 'testing-in-anger', 'naming', 'zen']);
    // all-three 175; a tag alone 50.
    assert.deepEqual((await names('three'))[0], 'all-three');
    // reads-tags has 50 by its tag; testing-in-anger 25 by its description.
    const go = await names('go');
    assert.deepEqual(go.slice(0, 2), ['go-elsewhere', 'go-tests']);
    assert.ok(go.indexOf('reads-tags') < go.indexOf('testing-in-anger'), String(go));
  });

  it('while somebody types seven are given, and how many there are', async () => {
    const { total, results } = await find('e');
    assert.ok(total > 7, String(total));
    assert.equal(results.length, 7);
    assert.deepEqual(await find(' '), { total: 0, results: [] });
  });

  it('what is out of scope is not found, and links stay in scope', async () => {
    assert.deepEqual(await names('lang:go', '&library=tools'), ['go-tests']);
    assert.equal((await find('lang:go', '&library=tools')).results[0]?.href, '/skills/go-tests?library=tools');
    assert.deepEqual(await find('lang:go', '&library=none'), { total: 0, results: [] });
  });
});

describe('what is refused', () => {
  it('more than 256 characters, in words that say so', async () => {
    const answer = await fetch(`${origin}/search.json?q=${'x'.repeat(257)}`);
    assert.equal(answer.status, 400);
    assert.match(((await answer.json()) as { error: string }).error, /at most 256 characters; this one has 257/);
    assert.equal((await fetch(`${origin}/search.json?q=${'x'.repeat(256)}`)).status, 200);
  });

  it('more than 16 words; the same word again is one', async () => {
    const words = (count: number): string => Array.from({ length: count }, (_, at) => `w${at}`).join('+');
    assert.equal((await fetch(`${origin}/?q=${words(17)}`)).status, 400);
    assert.equal((await fetch(`${origin}/?q=${words(16)}`)).status, 200);
    assert.equal((await fetch(`${origin}/?q=${'x+'.repeat(60)}`)).status, 200);
  });

  it('a search of 10,000 characters gets a page that says what is too long', async () => {
    const answer = await fetch(`${origin}/?q=${'x'.repeat(10_000)}`, { headers: { Accept: 'text/html' } });
    assert.equal(answer.status, 414);
    assert.equal(answer.headers.get('content-type'), 'text/html; charset=utf-8');
    assert.match(await answer.text(), /longer than 8192 characters/);
  });
});
