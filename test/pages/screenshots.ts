// `make screenshots`: takes the pictures of the pages that the docs show.
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import type { Owner } from '../server/support/gateway.ts';
import { desktop, open, phone, startBrowser } from './support/browser.ts';
import { serveLibrary } from './support/library.ts';

const folder = process.argv[2] ?? join(import.meta.dirname, '../../docs/screenshots');
await mkdir(folder, { recursive: true });
const tasks: (() => unknown)[] = [];
const owner: Owner = { after: (task) => tasks.push(task) };
try {
  const { origin } = await serveLibrary(owner);
  const browser = await startBrowser(owner);
  const shots = [
    { name: 'overview', path: '/', viewport: desktop },
    { name: 'overview-dark', path: '/', viewport: desktop, dark: true },
    { name: 'skill', path: '/skills/write-a-runbook', viewport: desktop },
    { name: 'skill-dark', path: '/skills/write-a-runbook', viewport: desktop, dark: true },
    { name: 'skill-phone', path: '/skills/write-a-runbook', viewport: phone },
    { name: 'overview-phone', path: '/', viewport: phone },
    { name: 'search', path: '/', viewport: desktop, type: 'on-call' },
    { name: 'source', path: '/sources/frontend', viewport: desktop },
    { name: 'sources-phone', path: '/sources', viewport: phone },
    { name: 'prompt', path: '/prompts/handbook_hand-over', viewport: desktop },
    { name: 'not-found', path: '/skills/nothing', viewport: desktop },
    { name: 'results', path: '/?q=on-call', viewport: phone, dark: true },
  ];
  for (const { name, path, viewport, dark = false, type } of shots) {
    const { page } = await open(browser, origin, {
      viewport,
      colorScheme: dark ? 'dark' : 'light',
      deviceScaleFactor: 1,
    });
    await page.goto(path);
    if (type !== undefined) {
      await page.getByRole('combobox').pressSequentially(type);
      await page.getByRole('option').first().waitFor();
      await page.keyboard.press('ArrowDown');
    }
    await page.screenshot({
      path: join(folder, `${name}.png`),
      fullPage: type === undefined && process.argv[2] !== undefined,
    });
    await page.context().close();
  }
} finally {
  for (const task of tasks.reverse()) await task();
}
