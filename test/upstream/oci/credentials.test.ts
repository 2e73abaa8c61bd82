// Which entry of an image pull secret is for which registry.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { registryCredentials } from '../../../upstream/oci/credentials.ts';

const login = (name: string) => ({ username: name, password: 'p' });
const basicOf = (name: string) => `Basic ${Buffer.from(`${name}:p`).toString('base64')}`;
const of = (auths: object, registry: string, repository = 'team/skills') =>
  registryCredentials(new Map([['.dockerconfigjson', Buffer.from(JSON.stringify({ auths }))]]), {
    registry,
    repository,
  });
const shown = (auths: object, registry: string, repository?: string) => {
  const found = of(auths, registry, repository);
  assert(found.ok, JSON.stringify(found));
  return found.basic;
};

test('the entry of the host is taken, of its port too, and no other one', () => {
  const auths = { 'h.example.com': login('plain'), 'h.example.com:5000': login('port') };
  assert.equal(shown(auths, 'h.example.com'), basicOf('plain'));
  assert.equal(shown(auths, 'h.example.com:5000'), basicOf('port'));
  for (const registry of ['h.example.co', 'x.h.example.com', 'h.example.com.evil.org', 'h.example.com:443']) {
    const found = of(auths, registry);
    assert(!found.ok);
    assert.equal(found.missing, `an entry for ${registry} in .dockerconfigjson`);
  }
});

test('of entries for folders of repositories the nearest is taken', () => {
  const auths = { h: login('all'), 'h/team': login('team'), 'h/team/skills': login('own'), 'h/tea': login('other') };
  assert.equal(shown(auths, 'h'), basicOf('own'));
  assert.equal(shown(auths, 'h', 'team/rules'), basicOf('team'));
  assert.equal(shown(auths, 'h', 'teams/x'), basicOf('all'));
});

test('hosts are found as programs write them, Docker Hub under each of its names', () => {
  for (const key of ['https://h', 'http://h/', 'https://h/v2/', 'h/v1/', 'H']) {
    assert.equal(shown({ [key]: login('a') }, 'h'), basicOf('a'), key);
  }
  for (const key of ['https://index.docker.io/v1/', 'docker.io', 'index.docker.io', 'registry-1.docker.io']) {
    assert.equal(shown({ [key]: login('hub') }, 'docker.io', 'library/x'), basicOf('hub'), key);
  }
});

test('auth holds user and password in one, with colons in the password', () => {
  const auth = Buffer.from('ada:p:q').toString('base64');
  assert.equal(shown({ h: { auth } }, 'h'), `Basic ${auth}`);
});

test('ca.crt alone is no credential, and stands beside any', () => {
  const ca = Buffer.from('pem');
  const address = { registry: 'h', repository: 'a' };
  assert.deepEqual(registryCredentials(new Map([['ca.crt', ca]]), address), { ok: true, basic: undefined, ca });
  assert.deepEqual(registryCredentials(new Map(), address), { ok: true, basic: undefined, ca: undefined });
});
