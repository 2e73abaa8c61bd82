// The pages in a real browser, on a desk and on a phone, by day and by night, with and without JavaScript.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { before, describe, it } from 'node:test';
import axe from 'axe-core';
import type { Browser, Page } from 'playwright-core';
import { lifetime } from '../server/support/gateway.ts';
import { serveHarvested } from '../server/support/harvested.ts';
import { desktop, open, phone, startBrowser } from './support/browser.ts';
import { serveLibrary } from './support/library.ts';

const suite = lifetime();
let browser: Browser;
let origin = '';

before(async () => {
  browser = await startBrowser(suite);
  ({ origin } = await serveLibrary(suite));
});

/** What axe finds that bars somebody: its words, and where. */
async function barriers(page: Page): Promise<string[]> {
  await page.evaluate(axe.source);
  const { violations } = await page.evaluate(
    async () => await (globalThis as unknown as { axe: typeof axe }).axe.run({ resultTypes: ['violations'] }),
  );
  return violations.map(({ id, nodes }) => `${id}: ${nodes.map(({ html }) => html).join(' ')}`);
}

const widerThanWindow = (page: Page): Promise<number> =>
  page.evaluate('document.documentElement.scrollWidth - document.documentElement.clientWidth');

/** Waits until a screen reader is told so: what was found for less than all that was typed may come first. */
const told = (page: Page, words: RegExp): Promise<void> =>
  page.getByRole('status').filter({ hasText: words }).waitFor({ state: 'attached' });

const pages = [
  '/',
  '/skills',
  '/libraries',
  '/sources',
  '/sources/frontend',
  '/sources/design-system',
  '/skills/write-a-runbook',
  '/skills/write-a-runbook/1.0.0',
  '/prompts/handbook_hand-over',
  '/rules/write-for-the-night',
  '/profiles/incident-scribe',
  '/?q=on-call',
  '/?q=nothing-of-the-kind',
  '/?library=observability',
];

describe('every page', () => {
  for (const [where, viewport] of [
    ['a desk', desktop],
    ['a phone', phone],
  ] as const) {
    for (const colorScheme of ['light', 'dark'] as const) {
      it(`on ${where}, ${colorScheme}: nothing bars anybody, nothing is wider than the window, nothing goes wrong`, async () => {
        const { page, wrong } = await open(browser, origin, { viewport, colorScheme });
        for (const path of pages) {
          const answer = await page.goto(path);
          assert.equal(answer?.status(), 200, path);
          for (const details of await page.locator('details').all()) await details.locator('summary').click();
          assert.deepEqual(await barriers(page), [], path);
          assert.equal(await widerThanWindow(page), 0, `${path} scrolls sideways`);
        }
        assert.deepEqual(wrong, []);
      });
    }
  }

  it('is dark where the reader has it dark', async () => {
    const brightness = async (colorScheme: 'light' | 'dark'): Promise<number> => {
      const { page } = await open(browser, origin, { colorScheme });
      await page.goto('/');
      const color: string = await page.evaluate('getComputedStyle(document.body).backgroundColor');
      return Math.max(...[...color.matchAll(/\d+/g)].map(([part]) => Number(part)));
    };
    assert.ok((await brightness('light')) > 200);
    assert.ok((await brightness('dark')) < 60);
  });

  it('begins with a link to its content, has one first heading, and a title of its own', async () => {
    const { page } = await open(browser, origin);
    const titles = new Set<string>();
    for (const path of pages) {
      await page.goto(path);
      assert.equal(await page.locator('h1').count(), 1, path);
      titles.add(await page.title());
      await page.keyboard.press('Tab');
      assert.equal(await page.evaluate('document.activeElement.textContent'), 'Skip to content', path);
    }
    // The overview in two scopes has one title.
    assert.equal(titles.size, pages.length - 1);
    await page.keyboard.press('Enter');
    assert.equal(await page.evaluate('document.activeElement.id'), 'main');
  });
});

describe('the search', () => {
  it('finds while somebody types, and is used by keys alone', async () => {
    const { page, wrong } = await open(browser, origin);
    await page.goto('/');
    await page.keyboard.press('/');
    const box = page.getByRole('combobox', { name: 'Search names, tags and descriptions' });
    assert.equal(await page.evaluate('document.activeElement.id'), 'search', '/ leads to the search');
    await page.keyboard.type('runbook');
    const options = page.getByRole('option');
    await told(page, /^1 result$/);
    assert.match((await options.first().textContent()) ?? '', /^write-a-runbook/);
    assert.equal(await box.getAttribute('aria-expanded'), 'true');
    assert.deepEqual(await barriers(page), []);

    await page.keyboard.press('ArrowDown');
    assert.equal(await options.first().getAttribute('aria-selected'), 'true');
    assert.equal(await box.getAttribute('aria-activedescendant'), await options.first().getAttribute('id'));
    await page.keyboard.press('Escape');
    assert.equal(await page.getByRole('listbox').isVisible(), false);
    assert.equal(await box.getAttribute('aria-expanded'), 'false');

    await page.keyboard.type(' night');
    await options.first().waitFor();
    await page.keyboard.press('ArrowUp');
    await page.keyboard.press('Enter');
    await page.waitForURL('**/skills/write-a-runbook');
    assert.deepEqual(wrong, []);
  });

  it('shows seven at most, then all of them', async () => {
    const { page, wrong } = await open(browser, origin);
    await page.goto('/');
    await page.getByRole('combobox').pressSequentially('e');
    const options = page.getByRole('option');
    await options.nth(7).waitFor();
    assert.equal(await options.count(), 8);
    assert.match((await options.nth(7).textContent()) ?? '', /^All \d+ results$/);
    await options.nth(7).click();
    await page.waitForURL('**/?q=e');
    assert.match((await page.locator('h1').textContent()) ?? '', /^\d+ results for “e”$/);
    assert.equal(await page.getByRole('combobox').inputValue(), 'e');
    assert.deepEqual(wrong, []);
  });

  it('by Enter lists everything that is found', async () => {
    const { page } = await open(browser, origin);
    await page.goto('/skills');
    await page.getByRole('combobox').fill('on-call');
    await page.keyboard.press('Enter');
    await page.waitForURL('**/?q=on-call');
    assert.equal(await page.locator('.artifacts > li').count(), 4);
  });

  it('stays in the scope of the page', async () => {
    const { page } = await open(browser, origin);
    await page.goto('/?library=observability');
    await page.getByRole('combobox').pressSequentially('write');
    await told(page, /^1 result$/);
    assert.equal(await page.getByRole('option').count(), 1);
    await page.keyboard.press('Enter');
    await page.waitForURL('**/?library=observability&q=write');
    assert.equal(await page.locator('.artifacts > li').count(), 1);
  });

  it('says so where nothing is found', async () => {
    const { page } = await open(browser, origin);
    await page.goto('/');
    await page.getByRole('combobox').pressSequentially('nothing-of-the-kind');
    await told(page, /^No results$/);
    assert.equal(await page.getByRole('listbox').isVisible(), false);
  });
});

it('addresses and commands are copied by their buttons', async () => {
  const { page, wrong } = await open(browser, origin, { permissions: ['clipboard-read', 'clipboard-write'] });
  await page.goto('/skills/write-a-runbook');
  await page.getByRole('button', { name: 'Copy the address', exact: true }).click();
  await page.locator('button', { hasText: 'Copied' }).waitFor();
  await told(page, /^Copied$/);
  assert.equal(await page.evaluate('navigator.clipboard.readText()'), 'skill://handbook/write-a-runbook');
  assert.deepEqual(wrong, []);
});

it('they are copied as well where scripts have no clipboard, as on a plain http:// address', async () => {
  const { page, wrong } = await open(browser, origin);
  await page.addInitScript("Object.defineProperty(navigator, 'clipboard', { value: undefined })");
  await page.goto('/skills/write-a-runbook');
  await page.getByRole('button', { name: 'Copy the address', exact: true }).click();
  await page.locator('button', { hasText: 'Copied' }).waitFor();
  await page.getByRole('combobox').focus();
  await page.keyboard.press('ControlOrMeta+v');
  assert.equal(await page.getByRole('combobox').inputValue(), 'skill://handbook/write-a-runbook');
  assert.deepEqual(wrong, []);
});

it('all problems of a source are told, the worst first', async () => {
  const { page } = await open(browser, origin);
  await page.goto('/');
  await page.getByRole('complementary').getByRole('link', { name: 'frontend' }).click();
  const told = await page.locator('.problems > li').allTextContents();
  assert.equal(told.length, 6);
  assert.match(told[0]!, /error\s+Empty\s+skills\/empty\/SKILL\.md/);
  assert.ok(told.some((one) => /UnclosedFrontmatter\s+skills\/unclosed\/SKILL\.md:1/.test(one)));
});

it('a scope that reaches a part of a source is told nothing of its other files', async () => {
  for (const [scope, shown] of [
    ['tags=web', true],
    ['library=frontend', true],
    ['tags=rule', false],
    ['library=logs', false],
  ] as const) {
    const source = scope === 'library=logs' ? 'observability' : 'frontend';
    const html = await (await fetch(`${origin}/sources/${source}?${scope}`)).text();
    assert.equal(/Only a part of this source is in scope/.test(html), !shown, scope);
    if (!shown) assert.doesNotMatch(html, /class="problems"/, scope);
  }
});

describe('without JavaScript', () => {
  it('the search, the pages and the snippets work', async () => {
    const { page, wrong } = await open(browser, origin, { javaScriptEnabled: false });
    await page.goto('/?library=handbook');
    await page.getByRole('searchbox').fill('runbook');
    await page.getByRole('button', { name: 'Search' }).click();
    await page.waitForURL('**/?library=handbook&q=runbook');
    await page.getByRole('link', { name: 'write-a-runbook' }).click();
    assert.equal(await page.locator('h1').textContent(), 'write-a-runbook');
    assert.equal(await page.getByRole('button', { name: /^Copy/ }).count(), 0);
    await page.getByText('Claude Code').click();
    await page.getByText(/^claude mcp add --transport http agents '.*\/mcp\?library=handbook'$/).waitFor();
    await page.getByRole('link', { name: '1.0.0' }).click();
    await page.getByText('This is version 1.0.0').waitFor();
    assert.deepEqual(wrong, []);
  });
});

describe('hostile content', () => {
  const evil = 'https://evil.example';
  const text = `---
name: hostile
description: "</title><script>alert('description')</script><img src=${evil}/d.png onerror=alert(1)>"
metadata:
  tags: "<script>alert('tag')</script>, \\"><img src=x onerror=alert(2)>"
  extra: {"<b onclick=alert(3)>": "</dd><script>alert(4)</script>"}
---
# <script>alert('heading')</script>

<script>alert('text')</script>
<script src="${evil}/x.js"></script>
<iframe src="${evil}/frame"></iframe>
<img src="${evil}/pixel.png" onerror="alert('img')">
<form action="${evil}"><input name=q></form>
<style>@import url(${evil}/x.css); body { display: none }</style>
<meta http-equiv="refresh" content="0;url=${evil}">
<base href="${evil}/">
<svg onload=alert('svg')></svg>

[a](javascript:alert('a')) [b](JAVASCRIPT:alert('b')) [c](java&#x0A;script:alert('c')) [d](data:text/html,<script>alert('d')</script>)
[e](<%3C/script%3E>) [f](//evil.example) [g]( javascript:alert('g')) <javascript:alert('h')> [i][i]

![remote](${evil}/pixel.png) ![remote too](//evil.example/pixel.png "onload=alert(1)") ![own](picture.svg)

[i]: javascript:alert('i')

\`\`\`"><script>alert('fence')</script>
</code></pre><script>alert('code')</script>
\`\`\`

| <script>alert('cell')</script> |
|---|
| <img src=x onerror=alert('cell')> |
`;
  const picture = `<svg xmlns="http://www.w3.org/2000/svg" width="10" height="10"><script>alert('svg')</script><image href="${evil}/in.png"/></svg>`;
  const files = {
    'skills/hostile/SKILL.md': text,
    'skills/hostile/picture.svg': picture,
    'skills/hostile/</script>': 'A file below a folder that is called <.\n',
    'skills/hostile/<img src=x onerror=alert(5)>.md': 'x\n',
    'skills/hostile/\'"onclick=alert(6) .html': "<script>alert('raw')</script>",
    'prompts/hostile.md': text.replace('name: hostile\n', ''),
    'rules/hostile/RULE.md': text,
    'profiles/hostile/hostile.md': text,
    'skills/<script>alert(7)<script>/SKILL.md': '',
  };

  it('is shown and never runs, on no page, and reaches nobody', async () => {
    const { server } = await serveHarvested(suite, { hostile: { files } });
    for (const javaScriptEnabled of [true, false]) {
      const { page, wrong } = await open(browser, server.url, { javaScriptEnabled });
      for (const path of [
        '/',
        '/skills/hostile',
        '/prompts/hostile_hostile',
        '/rules/hostile',
        '/profiles/hostile',
        '/sources/hostile',
        '/?q=script',
      ]) {
        const answer = await page.goto(path);
        assert.equal(answer?.status(), 200, path);
        await page.locator('h1').waitFor();
        assert.equal(
          await page.locator('main script, main iframe, main style, main form, main base, main meta').count(),
          0,
          path,
        );
        assert.equal(await page.locator('a[href^="javascript" i], a[href^="data" i]').count(), 0, path);
      }
      await page.goto('/skills/hostile');
      await page.getByText("<script>alert('text')</script>").waitFor();
      assert.equal(await page.locator('.markdown img').count(), 1, 'its own picture alone');
      for (const link of await page.locator('.markdown a').all()) {
        assert.match((await link.getAttribute('href')) ?? '', /^\/skills\/hostile\/hostile\/raw\//);
      }
      assert.deepEqual(wrong, []);
    }
    const { page, wrong } = await open(browser, server.url);
    await page.goto('/');
    await page.getByRole('combobox').pressSequentially('hostile');
    await page.getByRole('option').first().waitFor();
    assert.deepEqual(wrong, []);
  });

  it('is not wider than a phone, however long its words are', async () => {
    const word = 'x'.repeat(500);
    const long = `---\nname: long\ndescription: ${word}\ntags: [${word}]\n---\n# ${word}\n\n${word}\n\n- ${word}\n\n> ${word}\n\n|${word}|${word}|\n|---|---|\n|${word}|\`${word}\`|\n\n${'- '.repeat(40)}x\n\n${'> '.repeat(40)}x\n\n\`\`\`\n${word}\n\`\`\`\n`;
    const { server } = await serveHarvested(suite, {
      wide: {
        files: {
          'skills/long/SKILL.md': long,
          [`skills/long/${'f'.repeat(200)}.md`]: 'x',
          'skills/empty/SKILL.md': '',
        },
      },
    });
    const { page, wrong } = await open(browser, server.url, { viewport: phone });
    for (const path of ['/', '/skills', '/skills/long', '/sources/wide', `/?q=${'x'.repeat(200)}`]) {
      await page.goto(path);
      assert.equal(await widerThanWindow(page), 0, path);
    }
    assert.deepEqual(wrong, []);
  });

  it('has files of any name, each under its link, and as they are', async () => {
    const { server } = await serveHarvested(suite, { hostile: { files } });
    const { page, wrong } = await open(browser, server.url);
    await page.goto('/skills/hostile');
    const links = page.locator('#files tbody a');
    const paths = await links.allTextContents();
    assert.deepEqual(paths.sort(), [
      '\'"onclick=alert(6) .html',
      '</script>',
      '<img src=x onerror=alert(5)>.md',
      'SKILL.md',
      'picture.svg',
    ]);
    for (const path of paths) {
      const href = await page.getByRole('link', { name: path, exact: true }).getAttribute('href');
      const answer = await page.request.get(href!);
      assert.equal(answer.status(), 200, path);
      assert.equal(await answer.text(), files[`skills/hostile/${path}` as keyof typeof files], path);
    }
    await page.goto('/skills/hostile/raw/picture.svg');
    await page.goto('/skills/hostile/raw/%27%22onclick%3Dalert%286%29%20.html');
    assert.deepEqual(
      wrong.filter((one) => !/^console error: .*(sandbox|Content Security Policy)/.test(one)),
      [],
    );
  });
});

it('another site’s page takes nothing in, though the browser knows the password', async () => {
  const token = 'a-token-of-sixteen-characters';
  const { server } = await serveHarvested(
    suite,
    {
      notes: {
        files: {
          'skills/note/SKILL.md': '---\nname: note\ndescription: A note.\n---\n![own](dot.svg)\n',
          'skills/note/dot.svg': '<svg xmlns="http://www.w3.org/2000/svg" width="9" height="9"><circle r="9"/></svg>',
          'skills/note/run.js': 'globalThis.taken = "the script";\n',
        },
      },
    },
    { auth: { tokens: { secretRef: { name: 'tokens' } } } },
    {},
    { tokens: { person: token } },
  );
  const raw = `${server.url}/skills/note/raw`;
  const elsewhere = createServer((_request, response) => {
    response.setHeader('content-type', 'text/html');
    response.end(
      `<!doctype html><img src="${raw}/dot.svg"><script src="${raw}/run.js"></script><link rel="stylesheet" href="${server.url}/assets/style.css">`,
    );
  });
  suite.after(() => elsewhere.close());
  await once(elsewhere.listen(0, '127.0.0.1'), 'listening');
  const { page } = await open(browser, server.url, { httpCredentials: { username: 'me', password: token } });
  const widthOfPicture = (): Promise<number> =>
    page.evaluate('document.querySelector(\'img[src$="dot.svg"]\').naturalWidth');
  await page.goto('/skills/note');
  await page.locator('.markdown img').scrollIntoViewIfNeeded();
  await page.evaluate("document.querySelector('.markdown img').decode()");
  assert.equal(await widthOfPicture(), 9, 'its own page shows it');
  await page.goto(`http://127.0.0.1:${(elsewhere.address() as AddressInfo).port}/`, { waitUntil: 'load' });
  assert.equal(await widthOfPicture(), 0);
  assert.equal(await page.evaluate('globalThis.taken'), undefined);
  assert.equal(await page.evaluate('getComputedStyle(document.body).marginTop'), '8px', 'the browser’s own style');
});

it('a gateway with tokens is a browser’s by HTTP Basic, with its stylesheet and search', async () => {
  const token = 'a-token-of-sixteen-characters';
  const { server } = await serveHarvested(
    suite,
    { notes: { files: { 'skills/note/SKILL.md': '---\nname: note\ndescription: A note.\n---\nNote.\n' } } },
    { auth: { tokens: { secretRef: { name: 'tokens' } } } },
    {},
    { tokens: { person: token } },
  );
  const { page, wrong } = await open(browser, server.url, { httpCredentials: { username: 'me', password: token } });
  await page.goto('/');
  await page.getByRole('combobox').pressSequentially('note');
  await page.getByRole('option').first().waitFor();
  assert.equal(await page.evaluate('getComputedStyle(document.body).marginTop'), '0px', 'the stylesheet is there');
  // What a browser says of a challenge that it then answers is no fault.
  assert.deepEqual(
    wrong.filter((one) => !one.includes('401')),
    [],
  );
});
