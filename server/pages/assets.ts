// The files that pages are made with: a stylesheet, a script, a picture. Their names carry a digest, so they may be kept for ever.
import { hash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';

export interface Asset {
  bytes: Buffer;
  type: string;
  /** Path of its URL. */
  href: string;
}

const types: Readonly<Record<string, string>> = {
  css: 'text/css; charset=utf-8',
  js: 'text/javascript; charset=utf-8',
  svg: 'image/svg+xml',
};

function asset(stem: string, extension: string): Asset {
  const bytes = readFileSync(join(import.meta.dirname, 'assets', `${stem}.${extension}`));
  const digest = hash('sha256', bytes).slice(0, 16);
  return { bytes, type: types[extension]!, href: `/assets/${stem}-${digest}.${extension}` };
}

export const stylesheet = asset('style', 'css');
export const script = asset('catalogue', 'js');
export const icon = asset('icon', 'svg');

const all = [stylesheet, script, icon];

/**
 * The asset that a URL's path names; undefined where there is none. One of another version of Lyceum, whose page a browser has
 * while pods are replaced, gets this version's.
 */
export function assetAt(path: string): Asset | undefined {
  return all.find(({ href }) => href === path || stemOf(href) === stemOf(path));
}

const stemOf = (path: string): string => path.replace(/-[0-9a-f]{16}(?=\.[a-z]+$)/, '');
