// What a WebDAV server is shown for what it asks: read from WWW-Authenticate as RFC 9110, 7616 and 7617 write it.
import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { describe, test } from 'node:test';
import { challengesOf } from '../../../upstream/challenges.ts';
import { UpstreamFault } from '../../../upstream/fault.ts';
import { Authentication } from '../../../upstream/webdav/authentication.ts';

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
  /** A server's credential once its first request was challenged and answered anew. */
  const of = (username: string, password: string, ...lines: string[]) => {
    const authentication = new Authentication(url, username, password);
    const first = authentication.forRequest();
    assert.equal(first.header('GET', url), undefined, 'nothing is shown unasked');
    assert.equal(first.challenged(lines, undefined), true);
    return authentication;
  };
  const shownBy = (authentication: Authentication, method: 'GET' | 'PROPFIND' = 'GET') =>
    authentication.forRequest().header(method, url)!;

  test('Basic is UTF-8', () => {
    const header = shownBy(of('jörg', '€:x', 'Basic realm="x"'));
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
      const header = Buffer.from(shownBy(authentication, method), 'latin1').toString();
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
    assert.equal(parameter(shownBy(of('u', 'p', ...lines)), ' nonce'), 'm');
    assert.match(shownBy(of('u', 'p', lines[0]!, lines[1]!)), /^Basic /);
    const request = new Authentication(url, 'u', 'p').forRequest();
    assert.throws(() => request.challenged([lines[1]!], undefined), UpstreamFault);
  });

  /** A request that is refused with a challenge: whether it has more to show, and the nonce that it shows then. */
  const refused = (authentication: Authentication, line: string) => {
    const request = authentication.forRequest();
    const again = request.challenged([line], request.header('GET', url));
    return { again, request, nonce: again ? parameter(request.header('GET', url)!, ' nonce') : undefined };
  };

  test('a password that is refused is not shown again, an old nonce is replaced', () => {
    const basic = of('u', 'p', 'Basic realm="x"');
    basic.forRequest().accepted(undefined);
    assert.equal(refused(basic, 'Basic realm="x"').again, false);
    const digest = of('u', 'p', 'Digest realm="x", nonce="1"');
    assert.equal(refused(digest, 'Digest realm="x", nonce="2"').again, false, 'it was never taken');
    assert.equal(refused(digest, 'Digest realm="x", nonce="2", stale=TRUE').nonce, '2');
    digest.forRequest().accepted(undefined);
    const { request, nonce } = refused(digest, 'Digest realm="x", nonce="3"');
    assert.equal(nonce, '3', 'it was taken once');
    assert.equal(parameter(shownBy(digest), ' nonce'), '1', 'nobody else shows a nonce that nobody has taken yet');
    request.accepted(undefined);
    assert.equal(parameter(shownBy(digest), ' nonce'), '3');
    assert.equal(refused(digest, 'Basic realm="x"').again, false, 'no way back to a password in the clear');
  });

  test('each request answers to its own challenge, whatever others have learned meanwhile', () => {
    const digest = of('u', 'p', 'Digest realm="x", nonce="1"');
    const [a, b, c] = [digest.forRequest(), digest.forRequest(), digest.forRequest()];
    const shown = [a, b].map((request) => request.header('GET', url));
    assert.equal(a.challenged(['Digest realm="x", nonce="2", stale=true'], shown[0]), true);
    assert.equal(b.challenged(['Digest realm="x", nonce="3", stale=true'], shown[1]), true);
    assert.equal(c.challenged(['Digest realm="x", nonce="4"'], undefined), true, 'it was asked before');
    const nonces = [a, b, c].map((request) => parameter(request.header('GET', url)!, ' nonce'));
    assert.deepEqual(nonces, ['2', '3', '4']);
    assert.equal(a.outrun, false);
    a.challenged(['Digest realm="x", nonce="5", stale=true'], a.header('GET', url));
    assert.equal(a.outrun, true, 'a nonce that nobody else was given was used up');
  });

  test('the nonce that an answer names for the next request is shown next, but for sessions', () => {
    const digest = of('u', 'p', 'Digest realm="x", nonce="1", qop="auth"');
    shownBy(digest);
    digest.forRequest().accepted('rspauth="aa", qop=auth, nextnonce="2=="');
    const next = shownBy(digest);
    assert.match(next, / nonce="2=="/);
    assert.equal(parameter(next, 'nc'), '00000001');
    const session = of('u', 'p', 'Digest realm="x", nonce="1", qop="auth", algorithm=MD5-sess');
    session.forRequest().accepted('nextnonce="2"');
    assert.equal(parameter(shownBy(session), ' nonce'), '1');
  });

  test('what Digest cannot carry is said', () => {
    for (const [username, realm] of [
      ['a"b', 'x'],
      ['a\\b', 'x'],
      ['a', 'x\\"y'],
    ]) {
      const lines = [`Digest realm="${realm}", nonce="n"`];
      const request = new Authentication(url, username!, 'p').forRequest();
      assert.throws(() => request.challenged(lines, undefined), /no quotation mark/);
    }
  });
});
