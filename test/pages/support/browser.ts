// A real Chromium without a window, and what a page did in it that it must not do.
import { existsSync } from 'node:fs';
import { type Browser, type BrowserContext, type BrowserContextOptions, chromium, type Page } from 'playwright-core';
import type { Owner } from '../../server/support/gateway.ts';

const places = ['/usr/bin/chromium', '/usr/bin/chromium-browser', '/usr/bin/google-chrome'];

/** @throws Error that says what to install */
export async function startBrowser(owner: Owner): Promise<Browser> {
  const executablePath = process.env.CHROMIUM ?? places.find((place) => existsSync(place));
  if (executablePath === undefined) {
    throw new Error('Chromium is missing, the tests of the pages need it: apt-get install chromium, or set CHROMIUM');
  }
  // As root, and in containers, it has no sandbox of its own; every page that is opened here is this repository's.
  const browser = await chromium.launch({ executablePath, args: ['--no-sandbox', '--disable-dev-shm-usage'] });
  owner.after(() => browser.close());
  return browser;
}

export const desktop = { width: 1280, height: 900 };
export const phone = { width: 360, height: 740 };

/** A page, with everything in it that should not have been: messages on the console, faults, requests to other hosts. */
export interface Watched {
  page: Page;
  wrong: readonly string[];
}

export async function open(browser: Browser, origin: string, options: BrowserContextOptions = {}): Promise<Watched> {
  const context = await browser.newContext({ baseURL: origin, viewport: desktop, locale: 'en-GB', ...options });
  const page = await context.newPage();
  return { page, wrong: watch(context, page, origin) };
}

/** What a page's policy forbids, and a search that another letter overtook. */
const neverSent = ['csp', 'net::ERR_ABORTED'];

function watch(context: BrowserContext, page: Page, origin: string): readonly string[] {
  const wrong: string[] = [];
  page.on('console', (message) => wrong.push(`console ${message.type()}: ${message.text()}`));
  page.on('pageerror', (error) => wrong.push(`fault: ${error.message}`));
  page.on('dialog', (dialog) => {
    wrong.push(`dialog: ${dialog.message()}`);
    void dialog.dismiss();
  });
  context.on('requestfinished', (request) => {
    if (new URL(request.url()).origin !== origin) wrong.push(`request: ${request.url()}`);
  });
  context.on('requestfailed', (request) => {
    const why = request.failure()?.errorText ?? 'unknown';
    if (!neverSent.includes(why)) wrong.push(`failed, ${why}: ${request.url()}`);
  });
  return wrong;
}
