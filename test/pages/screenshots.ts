// `make screenshots`: takes the pictures of the pages that README and docs show, of the catalogue that the tests look at.
// Texts are set in the machine's fonts; those of today's pictures are Debian's fonts-liberation and fonts-urw-base35.
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import type { Owner } from '../server/support/gateway.ts';
import { desktop, open, phone, startBrowser } from './support/browser.ts';
import { serveLibrary } from './support/library.ts';

/** What stands in the pictures as the address of the gateway. */
const port = 8000;
const folder = join(import.meta.dirname, '../../docs/screenshots');

interface Shot {
  name: string;
  path: string;
  viewport: { width: number; height: number };
  dark?: boolean;
  /** Into the search, which is left open. */
  typed?: string;
}

const shots: Shot[] = [
  { name: 'overview', path: '/', viewport: desktop },
  { name: 'search-dark', path: '/', viewport: desktop, dark: true, typed: 'write' },
  { name: 'skill', path: '/skills/write-a-runbook', viewport: desktop },
  { name: 'skill-phone', path: '/skills/write-a-runbook', viewport: phone },
  { name: 'problems', path: '/sources/frontend', viewport: desktop },
];

const tasks: (() => unknown)[] = [];
const owner: Owner = { after: (task) => tasks.push(task) };
try {
  const { origin } = await serveLibrary(owner, { port });
  const browser = await startBrowser(owner);
  await mkdir(folder, { recursive: true });
  for (const { name, path, viewport, dark = false, typed } of shots) {
    const { page } = await open(browser, origin, {
      viewport,
      colorScheme: dark ? 'dark' : 'light',
      isMobile: viewport === phone,
      hasTouch: viewport === phone,
      reducedMotion: 'reduce',
    });
    await page.goto(path);
    // The only thing on a page that is another in each run.
    await page.evaluate(
      "for (const time of document.querySelectorAll('time')) time.textContent = '2026-12-01 08:00:00 UTC'",
    );
    if (typed !== undefined) {
      await page.getByRole('combobox').fill(typed);
      await page.getByRole('option').first().waitFor();
      await page.keyboard.press('ArrowDown');
    }
    await page.screenshot({ path: join(folder, `${name}.png`), animations: 'disabled', caret: 'hide' });
    await page.context().close();
  }
} finally {
  for (const task of tasks.reverse()) await task();
}
