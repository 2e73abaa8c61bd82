// URLs, credentials and references of git sources.
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { gitAddress } from '../../../upstream/git/address.ts';
import { credentialsFrom } from '../../../upstream/git/credentials.ts';
import { chooseReference, parseReference, wantedReference } from '../../../upstream/git/references.ts';

describe('a git URL', () => {
  const good: [text: string, url: string][] = [
    ['github://obra/superpowers', 'https://github.com/obra/superpowers.git'],
    ['github://obra/superpowers.git', 'https://github.com/obra/superpowers.git'],
    ['github://Org.x/Re-po_1/', 'https://github.com/Org.x/Re-po_1.git'],
    ['git+https://git.example.org/a/b', 'https://git.example.org/a/b'],
    ['git+https://git.example.org:8443/a/b.git/', 'https://git.example.org:8443/a/b.git'],
    ['git+http://gitea.git.svc:3000/a/b', 'http://gitea.git.svc:3000/a/b'],
    ['git+https://git.example.org/a%20b/@scope', 'https://git.example.org/a%20b/@scope'],
  ];
  for (const [text, url] of good) {
    test(`${text} is read from ${url}`, () => {
      const address = gitAddress(text);
      assert.equal(address.ok && address.transport === 'http' ? address.url.href : address, url);
    });
  }

  const overSsh: [text: string, address: object][] = [
    [
      'git+ssh://git.example.org/team/pack.git',
      { user: 'git', host: 'git.example.org', port: 22, path: '/team/pack.git' },
    ],
    ['git+ssh://ada@Git.Example.org:2222/a/', { user: 'ada', host: 'git.example.org', port: 2222, path: '/a' }],
    ['git+ssh://[fd00::1]:22/a', { user: 'git', host: 'fd00::1', port: 22, path: '/a' }],
    ['git+ssh://ada@h/~ada/my%20pack', { user: 'ada', host: 'h', port: 22, path: '~ada/my pack' }],
  ];
  for (const [text, address] of overSsh) {
    test(`${text} is read over SSH`, () => {
      assert.deepEqual(gitAddress(text), { ok: true, transport: 'ssh', ...address });
    });
  }

  const bad: [text: string, message: RegExp][] = [
    ['git+https://canary:canary@git.example.org/a', /spec\.secretRef/],
    ['git+https://canary@git.example.org/a', /spec\.secretRef/],
    ['git+https://git.example.org:canary@evil.example/a', /spec\.secretRef/],
    ['github://canary@obra/superpowers', /spec\.secretRef/],
    ['git+https://git.example.org/a?token=canary', /no query/],
    ['git+https://git.example.org/a#canary', /spec\.ref/],
    ['git+https://git.example.org', /HOST\/PATH/],
    ['git+https:///', /HOST\/PATH/],
    ['github://canary', /ORGANISATION\/REPOSITORY/],
    ['github://obra/superpowers/canary', /spec\.subdirectory/],
    ['github://obra/..', /ORGANISATION\/REPOSITORY/],
    ['https://git.example.org/canary', /git\+https/],
    ['git+ssh://ada:canary@git.example.org/a', /spec\.secretRef/],
    ['git+ssh://git.example.org/a?token=canary', /no query/],
    ['git+ssh://git.example.org', /git\+ssh:\/\/USER@HOST\/PATH/],
    ['git+ssh://git.example.org/', /USER@HOST/],
    ['git+ssh://-oProxyCommand=canary/a', /USER@HOST/],
    ['git+ssh://-canary@git.example.org/a', /USER@HOST/],
    ['git+ssh://git.example.org:0/a', /USER@HOST/],
    ['git+ssh://git.example.org:65536/a', /USER@HOST/],
    ['git+ssh://git.example.org/a/%2e%2e/canary', /USER@HOST/],
    ['git+ssh://git.example.org/a%0acanary', /USER@HOST/],
    ['git+ssh://git.example.org/a%ff', /USER@HOST/],
    ['git@git.example.org:team/canary', /git\+ssh/],
    ['file:///canary', /git\+https/],
  ];
  for (const [text, message] of bad) {
    test(`${text.replaceAll('canary', 'x')} is refused without being repeated`, () => {
      const address = gitAddress(text);
      assert(!address.ok);
      assert.match(address.message, message);
      assert.doesNotMatch(address.message, /canary/);
    });
  }
});

describe('credentials from a Secret', () => {
  const from = (secret: Record<string, string>, host = 'git.example.org') =>
    credentialsFrom(new Map(Object.entries(secret).map(([key, value]) => [key, Buffer.from(value)])), host);
  const basic = (pair: string) => `Basic ${Buffer.from(pair).toString('base64')}`;
  const authorization = (secret: Record<string, string>, host?: string) => {
    const credentials = from(secret, host);
    assert(credentials.ok);
    return credentials.authorization;
  };

  test('none at all is anonymous', () => assert.equal(authorization({}), undefined));
  test('user name and password', () =>
    assert.equal(authorization({ username: 'ada', password: 'pw' }), basic('ada:pw')));
  test('a password alone goes with the user that the host expects', () => {
    assert.equal(authorization({ password: 'pw' }, 'github.com'), basic('x-access-token:pw'));
    assert.equal(authorization({ password: 'pw' }, 'gitlab.com'), basic('oauth2:pw'));
    assert.equal(authorization({ password: 'pw' }, 'gitlab.example.org'), basic('oauth2:pw'));
    assert.equal(authorization({ password: 'pw' }, 'notgitlab.com'), basic('git:pw'));
    assert.equal(authorization({ password: 'pw' }, 'github.com.example.org'), basic('git:pw'));
  });
  test('a bearer token', () => assert.equal(authorization({ bearerToken: 't0k' }), 'Bearer t0k'));
  test('one line end behind a value is dropped', () => {
    assert.equal(authorization({ username: 'ada\n', password: 'pw\r\n' }), basic('ada:pw'));
    assert.equal(authorization({ bearerToken: 't0k\n' }), 'Bearer t0k');
  });
  test('a password that is not ASCII goes as UTF-8', () => {
    assert.equal(authorization({ username: 'ada', password: 'schlüssel' }), basic('ada:schlüssel'));
  });
  test('ca.crt comes along, and may stand alone', () => {
    const credentials = from({ 'ca.crt': 'PEM' });
    assert.deepEqual(credentials, { ok: true, authorization: undefined, ca: Buffer.from('PEM') });
  });
  for (const [secret, missing] of [
    [{ username: 'ada' }, 'password'],
    [{ username: 'ada', password: '' }, 'password'],
    [{ token: 'canary' }, 'username and password, or password, or bearerToken'],
    [{ password: '\n' }, 'username and password, or password, or bearerToken'],
  ] as const) {
    test(`${Object.keys(secret)} lacks ${missing}`, () => assert.deepEqual(from(secret), { ok: false, missing }));
  }
  test('a bearer token that no header can carry is named by its key, not repeated', () => {
    const credentials = from({ bearerToken: 'can\nary' });
    assert(!credentials.ok);
    assert.match(credentials.missing, /^bearerToken/);
    assert.doesNotMatch(credentials.missing, /ary/);
  });
});

describe('a ref', () => {
  const a = 'a'.repeat(40);
  const b = 'b'.repeat(40);
  test('is asked for by full names only, a branch before a tag', () => {
    assert.deepEqual(wantedReference('main'), { kind: 'names', names: ['refs/heads/main', 'refs/tags/main'] });
    assert.deepEqual(wantedReference('refs/pull/1/head'), { kind: 'names', names: ['refs/pull/1/head'] });
    assert.deepEqual(wantedReference(undefined), { kind: 'names', names: ['HEAD'] });
  });
  test('of forty hex digits is a commit; of fewer, a name', () => {
    assert.deepEqual(wantedReference(a.toUpperCase()), { kind: 'commit', oid: a });
    assert.equal(wantedReference(a.slice(1)).kind, 'names');
  });
  test('that only begins like a name of the remote names nothing', () => {
    assert.equal(chooseReference(['refs/heads/main'], [{ name: 'refs/heads/main-2', oid: a }]), undefined);
  });
  test('that is a branch and a tag is the branch, in whatever order they come', () => {
    const tag = { name: 'refs/tags/main', oid: a };
    const branch = { name: 'refs/heads/main', oid: b };
    const names = ['refs/heads/main', 'refs/tags/main'];
    for (const list of [
      [tag, branch],
      [branch, tag],
    ]) {
      assert.deepEqual(chooseReference(names, list), { object: b, commit: b, revision: `main@sha1:${b}` });
    }
  });
  test('that is an annotated tag means the commit it was put on', () => {
    const reference = parseReference(`${a} refs/tags/v1 peeled:${b}`);
    assert.deepEqual(reference, { name: 'refs/tags/v1', oid: a, peeled: b });
    assert.deepEqual(chooseReference(['refs/tags/v1'], [reference!]), {
      object: a,
      commit: b,
      revision: `v1@sha1:${b}`,
    });
  });
  test('left out is the branch that HEAD points at, or HEAD itself', () => {
    const head = parseReference(`${a} HEAD symref-target:refs/heads/trunk`);
    assert.deepEqual(chooseReference(['HEAD'], [head!]), { object: a, commit: a, revision: `trunk@sha1:${a}` });
    assert.deepEqual(chooseReference(['HEAD'], [{ name: 'HEAD', oid: a }]), {
      object: a,
      commit: a,
      revision: `HEAD@sha1:${a}`,
    });
  });
  test('is not taken from a line that is none', () => {
    for (const line of ['', 'unborn HEAD', `${a.slice(1)} HEAD`, a, `${a}x HEAD`]) {
      assert.equal(parseReference(line), undefined);
    }
  });
});
