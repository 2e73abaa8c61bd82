// What a WebDAV server is shown for what it asks: read from WWW-Authenticate as RFC 9110, 7616 and 7617 write it.
import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { describe, test } from 'node:test';
import { UpstreamFault } from '../../../upstream/fault.ts';
import { Authentication } from '../../../upstream/webdav/authentication.ts';
import { challengesOf } from '../../../upstream/webdav/challenges.ts';

const url = new URL('https://dav.example.com/files/a%20b/');
const md5 = (text: string): string => createHash('md5').update(text).digest('hex');
const parameter = (header: string, name: string): string | undefined =>
  new RegExp(`${name}="?([^",]*)"?`).exec(header)?.[1];

test('challenges are taken apart: several in a line, several lines, commas and quotes in values', () => {
  const found = challengesOf([
    'Negotiate, Digest realm="a, \\"b\\"", nonce=n1 , qop="auth,auth-int", Basic realm="x"',
    'Bearer',
  ]);
  assert.deepEqual(
    found.map(({ scheme, parameters }) => [scheme, Object.fromEntries(parameters)]),
    [
      ['negotiate', {}],
      ['digest', { realm: 'a, "b"', nonce: 'n1', qop: 'auth,auth-int' }],
      ['basic', { realm: 'x' }],
      ['bearer', {}],
    ],
  );
});

test('a hostile header of any length costs nothing', () => {
  const began = performance.now();
  for (const piece of ['a="\\', 'Digest a=', ',', ' ', '"', 'a ', 'a="b",'])
    challengesOf([piece.repeat(8000 / piece.length)]);
  challengesOf(['x'.repeat(2 ** 22)]);
  assert(performance.now() - began < 1000);
});

describe('authentication', () => {
  const of = (username: string, password: string, ...lines: string[]) => {
    const authentication = new Authentication(url, username, password);
    assert.equal(authentication.header('GET', url), undefined, 'nothing is shown unasked');
    assert.equal(authentication.challenged(lines, undefined), true);
    return authentication;
  };

  test('Basic is UTF-8', () => {
    const header = of('jörg', '€:x', 'Basic realm="x"').header('GET', url);
    assert.equal(header, `Basic ${Buffer.from('jörg:€:x').toString('base64')}`);
  });

  test('Digest is what RFC 7616 computes, over the very target of the request, counted up', () => {
    const authentication = of(
      'jörg',
      'pä',
      'Digest realm="files", nonce="abc", qop="auth-int,auth", opaque="o", algorithm=MD5',
    );
    for (const [count, method] of [
      ['00000001', 'PROPFIND'],
      ['00000002', 'GET'],
    ] as const) {
      const header = Buffer.from(authentication.header(method, url)!, 'latin1').toString();
      const cnonce = parameter(header, 'cnonce');
      const expected = md5(
        [md5('jörg:files:pä'), 'abc', count, cnonce, 'auth', md5(`${method}:/files/a%20b/`)].join(':'),
      );
      assert.equal(parameter(header, 'response'), expected);
      assert.equal(parameter(header, 'uri'), '/files/a%20b/');
      assert.equal(parameter(header, 'nc'), count);
      assert.match(header, /^Digest username="jörg", realm="files", /);
    }
  });

  test('Digest goes before Basic, MD5 before what Lyceum does not have', () => {
    const lines = ['Basic realm="x"', 'Digest realm="x", nonce="s", algorithm=SHA-256', 'Digest realm="x", nonce="m"'];
    assert.equal(parameter(of('u', 'p', ...lines).header('GET', url)!, ' nonce'), 'm');
    assert.match(of('u', 'p', lines[0]!, lines[1]!).header('GET', url)!, /^Basic /);
    assert.throws(() => new Authentication(url, 'u', 'p').challenged([lines[1]!], undefined), UpstreamFault);
  });

  test('a password that is refused is not shown again, an old nonce is replaced', () => {
    const basic = of('u', 'p', 'Basic realm="x"');
    basic.accepted();
    assert.equal(basic.challenged(['Basic realm="x"'], basic.header('GET', url)), false);
    const digest = of('u', 'p', 'Digest realm="x", nonce="1"');
    const again = (line: string) => digest.challenged([line], digest.header('GET', url));
    assert.equal(again('Digest realm="x", nonce="2"'), false, 'it was never taken');
    assert.equal(again('Digest realm="x", nonce="2", stale=TRUE'), true);
    digest.accepted();
    const old = digest.header('GET', url);
    assert.equal(again('Digest realm="x", nonce="3"'), true, 'it was taken once');
    assert.equal(parameter(digest.header('GET', url)!, ' nonce'), '3');
    assert.equal(again('Basic realm="x"'), false, 'no way back to a password in the clear');
    assert.equal(digest.challenged(['Digest realm="x", nonce="4"'], old), true, 'others have learned a newer nonce');
    assert.equal(parameter(digest.header('GET', url)!, ' nonce'), '3');
    assert.equal(digest.challenged(['Digest realm="x", nonce="4"'], undefined), true, 'it was asked before');
  });

  test('what Digest cannot carry is said', () => {
    for (const [username, realm] of [
      ['a"b', 'x'],
      ['a\\b', 'x'],
      ['a', 'x\\"y'],
    ]) {
      const lines = [`Digest realm="${realm}", nonce="n"`];
      assert.throws(() => new Authentication(url, username!, 'p').challenged(lines, undefined), /no quotation mark/);
    }
  });
});
