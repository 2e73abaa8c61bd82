// Markdown of other people on a page: what is rendered, what is left out, and that no text holds anybody up.
import assert from 'node:assert/strict';
import { syncBuiltinESMExports } from 'node:module';
import { after, describe, it } from 'node:test';
import workerThreads from 'node:worker_threads';
import { Markdown } from '../../server/pages/markdown/markdown.ts';
import { renderMarkdown } from '../../server/pages/markdown/render.ts';
import { MarkdownThread } from '../../server/pages/markdown/thread.ts';

const files = ['references/a b.md', 'notes.md', 'pic.png', 'docs/b.md', 'docs/deep/b.md'];
const places = { folder: '', files, before: '/skills/x/raw/', behind: '?library=a' };
const render = (text: string, more: Partial<typeof places> = {}): string =>
  renderMarkdown({ ...places, ...more, text }) ?? '';

describe('links', () => {
  for (const [written, href] of [
    ['https://example.org/a?b=1#c', 'https://example.org/a?b=1#c'],
    ['HTTPS://example.org', 'HTTPS://example.org'],
    ['mailto:somebody@example.org', 'mailto:somebody@example.org'],
    ['references/a b.md', undefined],
    ['references/none.md', undefined],
    ['references/', undefined],
    ['references/a%20b.md', '/skills/x/raw/references/a%20b.md?library=a'],
    ['./scripts/../notes.md#part', '/skills/x/raw/notes.md?library=a'],
    ['#before-you-write', '#text-before-you-write'],
    ['javascript:alert(1)', undefined],
    ['JaVaScRiPt:alert(1)', undefined],
    ['java&#115;cript:alert(1)', undefined],
    ['vbscript:x', undefined],
    ['data:text/html,x', undefined],
    ['file:///etc/passwd', undefined],
    ['skill://other/skill', undefined],
    ['//evil.example/x', undefined],
    ['/mcp', undefined],
    ['../up.md', undefined],
    ['a/../../up.md', undefined],
    ['%2e%2e/up.md', undefined],
    ['https:evil.example', undefined],
    [`https://e.example/${'x'.repeat(2048)}`, undefined],
  ] as const) {
    it(`[…](${written.slice(0, 40)}) leads to ${href?.slice(0, 60) ?? 'nothing'}`, () => {
      const html = render(`[a link](${written})`);
      const found = /href="([^"]*)"/.exec(html)?.[1]?.replaceAll('&amp;', '&');
      assert.equal(found, href, html);
    });
  }

  it('lead from the folder that the text stands in', () => {
    assert.match(render('[a](b.md)', { folder: 'docs/deep' }), /href="\/skills\/x\/raw\/docs\/deep\/b.md/);
    assert.match(render('[a](../b.md)', { folder: 'docs/deep' }), /href="\/skills\/x\/raw\/docs\/b.md/);
  });

  it('to other places tell those nothing', () => {
    assert.match(render('[a](https://example.org)'), /rel="noopener noreferrer nofollow"/);
  });

  it('stop where a text would blow its links up', () => {
    const html = render(`[a]: https://e.example/${'x'.repeat(1000)}\n\n${'[a]'.repeat(20_000)}`);
    assert.ok(html.length < 2_000_000, String(html.length));
  });
});

describe('what an author writes', () => {
  it('is text where it is HTML', () => {
    const html = render('<script>alert(1)</script> <iframe src=x></iframe> <b onclick=x>b</b>\n\n<style>*{}</style>');
    assert.doesNotMatch(html, /<(script|iframe|b|style)/);
    assert.match(html, /&lt;script&gt;/);
  });

  it('is seen as agents read it: nothing is hidden, and no direction is turned', () => {
    const html = render('# \u202eb\n\n[\u202emoc.elpmaxe](https://evil.example) `x\u2066y` a\u{e0061}\u{e0062}z\n');
    assert.doesNotMatch(html, /[\u202a-\u202e\u2066-\u2069]|[\u{e0000}-\u{e007f}]/u);
    assert.match(html, /\ufffdmoc.elpmaxe/);
    assert.match(html, /a\ufffdz/);
  });

  it('has pictures of the artifact itself, and none of other places', () => {
    assert.match(
      render('![map](pic.png)'),
      /<img src="\/skills\/x\/raw\/pic.png\?library=a" alt="map" loading="lazy">/,
    );
    const elsewhere = render(
      '![x](https://evil.example/p.png) ![y](//evil.example/p.png) ![z](data:image/png;base64,AA)',
    );
    assert.doesNotMatch(elsewhere, /<img|evil|data:/);
    assert.match(elsewhere, /\[picture: x\]/);
  });

  it('has no attribute of its own: neither titles nor languages of code nor columns leave any', () => {
    const html = render('[a](b.md "onmouseover=x") \n\n```js onload=x\nb\n```\n\n|a|\n|:-:|\n|b|\n');
    assert.doesNotMatch(html, /title=|onload|onmouseover|style=|class="language/);
  });

  it('has headings below the page’s own, with ids that are no other part’s', () => {
    const html = render('# Main\n\n## Main\n\n###### Deep\n');
    assert.match(html, /<h2 id="text-main">Main<\/h2>\s*<h3 id="text-main-1">Main<\/h3>\s*<h6 id="text-deep">/);
  });
});

describe('a text that is hostile', () => {
  const markdown = new Markdown();
  after(() => markdown.close());
  const shown = async (text: string): Promise<string> => (await markdown.render({ ...places, text })).text;
  const asItStands = /shown as it stands/;

  it('is shown as it stands where it is longer than is rendered, to its bound', async () => {
    const html = await shown('# a\n'.repeat(100_000));
    assert.match(html, asItStands);
    assert.ok(html.length < 270_000, String(html.length));
  });

  it('is shown as it stands where it takes more memory than it may, and the next is rendered', async () => {
    assert.match(await shown('# a\n'.repeat(60_000)), asItStands);
    assert.equal(await shown('*next*'), '<p><em>next</em></p>\n');
  });

  it('is shown as it stands where no thread can be begun, and the next is rendered once one can', async () => {
    const { Worker } = workerThreads;
    const markdown = new Markdown();
    const shownBy = async (text: string): Promise<string> => (await markdown.render({ ...places, text })).text;
    workerThreads.Worker = class {
      constructor() {
        throw new Error('no more threads');
      }
    } as unknown as typeof Worker;
    syncBuiltinESMExports();
    try {
      assert.match(await shownBy('*first*'), asItStands);
    } finally {
      workerThreads.Worker = Worker;
      syncBuiltinESMExports();
    }
    assert.equal(await shownBy('*first*'), '<p><em>first</em></p>\n');
    await markdown.close();
  });

  it('is shown as it stands where it is nested so deeply that something would be left out', async () => {
    for (const sign of ['> ', '- ', '1. ', '> - ']) {
      assert.match(await shown(`${sign.repeat(10_000)}the end`), /the end/, sign);
      assert.match(await shown(`${sign.repeat(20)}the end`), /<\/(blockquote|li)>/, sign);
    }
  });

  it('is given up when its time is over', async () => {
    const thread = new MarkdownThread();
    const source = { ...places, text: '['.repeat(200_000) };
    assert.equal(await thread.render(source, 1), undefined);
    await thread.end();
  });

  it('never holds up the server, whatever it is made of', async () => {
    const texts = ['[', '![[', '<a ', '*a **', '`a``b', '> ', '- ', '_a', '~~a', '[a](b', '&', '\\', '|a', 'a\n> '];
    let longest = 0;
    let last = performance.now();
    const beat = setInterval(() => {
      longest = Math.max(longest, performance.now() - last);
      last = performance.now();
    }, 5);
    for (const text of texts) {
      const began = performance.now();
      await shown(text.repeat(Math.floor(200_000 / text.length)));
      const took = performance.now() - began;
      assert.ok(took < 6_000, `${text}: ${took} ms`);
    }
    clearInterval(beat);
    assert.ok(longest < 1_000, `the event loop stood still for ${longest} ms`);
  });
});
