// From spec.url to an artifact in a registry.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ociAddress, revisionOf } from '../../../upstream/oci/address.ts';

const digest = `sha256:${'0a'.repeat(32)}`;

const good: Record<string, [api: string, registry: string, repository: string, tag?: string, digest?: string]> = {
  'oci://ghcr.io/acme/skills': ['https://ghcr.io/v2/', 'ghcr.io', 'acme/skills', 'latest'],
  'oci://ghcr.io/acme/skills:V1.2_x-y': ['https://ghcr.io/v2/', 'ghcr.io', 'acme/skills', 'V1.2_x-y'],
  [`oci://ghcr.io/acme/skills@${digest}`]: ['https://ghcr.io/v2/', 'ghcr.io', 'acme/skills', undefined, digest],
  [`oci://ghcr.io/acme/skills:v1@${digest}`]: ['https://ghcr.io/v2/', 'ghcr.io', 'acme/skills', 'v1', digest],
  'oci+http://registry.infra.svc:5000/a/b/c': [
    'http://registry.infra.svc:5000/v2/',
    'registry.infra.svc:5000',
    'a/b/c',
    'latest',
  ],
  'oci+http://[fd00::1]:5000/a': ['http://[fd00::1]:5000/v2/', '[fd00::1]:5000', 'a', 'latest'],
  'oci://Registry.Example.com/a': ['https://registry.example.com/v2/', 'registry.example.com', 'a', 'latest'],
  'oci://docker.io/nginx:1': ['https://registry-1.docker.io/v2/', 'docker.io', 'library/nginx', '1'],
  'oci://docker.io/acme/skills': ['https://registry-1.docker.io/v2/', 'docker.io', 'acme/skills', 'latest'],
  'oci://index.docker.io/acme/skills': ['https://registry-1.docker.io/v2/', 'docker.io', 'acme/skills', 'latest'],
};
for (const [url, [api, registry, repository, tag, digest]] of Object.entries(good)) {
  test(`${url.slice(0, 60)} is read`, () => {
    const found = ociAddress(url);
    assert(found.ok);
    assert.deepEqual({ ...found, api: found.api.href }, { ok: true, api, registry, repository, tag, digest });
  });
}

const bad = [
  'oci://ghcr.io',
  'oci://ghcr.io/',
  'oci:///a',
  'oci://ghcr.io/Acme/skills',
  'oci://ghcr.io/a/../b',
  'oci://ghcr.io/a//b',
  'oci://ghcr.io/a/b/',
  'oci://ghcr.io/a:',
  `oci://ghcr.io/a:${'x'.repeat(129)}`,
  'oci://ghcr.io/a@sha256:00',
  'oci://ghcr.io/a?b',
  'oci://ghcr.io/a#b',
  'oci://ghcr.io:99999/a',
  'oci+https://ghcr.io/a',
  'oci://ann:canary@ghcr.io/a',
  'oci://canary@ghcr.io/a',
];
for (const url of bad) {
  test(`${url.slice(0, 60)} is refused, and not repeated`, () => {
    const found = ociAddress(url);
    assert(!found.ok);
    assert.doesNotMatch(found.message, /canary|ghcr/);
    assert.match(found.message, url.includes('canary') ? /into a Secret/ : /oci:\/\/HOST\/REPOSITORY:TAG/);
  });
}

test('a state is called by its tag and its digest, or by its digest alone', () => {
  assert.equal(revisionOf({ tag: 'v1' }, digest), `v1@${digest}`);
  assert.equal(revisionOf({ tag: undefined }, digest), digest);
});
