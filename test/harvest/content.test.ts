// What is said of a file's bytes: digest, size, text or not, media type.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { contentOf } from '../../operator/harvest/content.ts';
import { mediaTypeOf } from '../../operator/harvest/media-type.ts';

const typeOf = (path: string, bytes: string | Buffer = 'text') =>
  mediaTypeOf(path, contentOf(Buffer.from(bytes as string)).text);

test('digest and size are of the exact bytes', () => {
  assert.deepEqual(contentOf(Buffer.from('abc')), {
    digest: 'sha256:ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad',
    size: 3,
    text: true,
    lfsPointer: false,
  });
});

test('source code is text, and TypeScript is no video', () => {
  for (const name of [
    'a.ts',
    'a.tsx',
    'a.mts',
    'a.py',
    'a.rs',
    'a.go',
    'a.sh',
    'a.php',
    'a.sql',
    'a.toml',
    'a.key',
    'A.TS',
  ]) {
    assert.match(typeOf(name), /^text\//, name);
  }
  assert.equal(typeOf('a.ts', Buffer.from([0x47, 0xff])), 'video/mp2t');
});

test('known types are those of the table', () => {
  assert.equal(typeOf('a.json'), 'application/json');
  assert.equal(typeOf('a.png', Buffer.from([0xff])), 'image/png');
  assert.equal(typeOf('a.svg'), 'image/svg+xml');
  assert.equal(typeOf('a.mdc'), 'text/markdown');
  assert.equal(typeOf('x/a.yaml'), 'text/yaml');
});

test('unknown text is Markdown, unknown bytes are bytes', () => {
  for (const name of [
    'LICENSE',
    'a.unknown',
    '.zshrc',
    'json',
    'md',
    'a.',
    'constructor',
    'a.constructor',
    'a.__proto__',
  ]) {
    assert.equal(typeOf(name), 'text/markdown', name);
    assert.equal(typeOf(name, Buffer.from([0xc3, 0x28])), 'application/octet-stream', name);
  }
});

test('text is what is UTF-8, a byte order mark included', () => {
  const isText = (bytes: number[]) => contentOf(Buffer.from(bytes)).text;
  assert.ok(isText([]));
  assert.ok(isText([0xef, 0xbb, 0xbf, 0x61]));
  assert.ok(!isText([0xff, 0xfe, 0x61, 0]));
  assert.ok(!isText([0xed, 0xa0, 0x80]));
});
