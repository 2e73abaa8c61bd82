// The Dockerfile says the same as the rest of the repository: rooms, Node, version, user.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import packageJson from '../../package.json' with { type: 'json' };
import { helms, objects, only } from './helm.ts';

const read = (name: string): string => readFileSync(join(import.meta.dirname, '../..', name), 'utf8');
const dockerfile = read('Dockerfile');
const rooms = ['catalogue', 'upstream', 'operator', 'server', 'sync', 'cli'];

test('every room is in the image, and nothing of the checkout that it does not need', () => {
  const copied = [...dockerfile.matchAll(/^COPY (?!--)(.+) \S+$/gm)].flatMap(([, names]) => names!.split(' '));
  const letIn = [...read('.dockerignore').matchAll(/^!(\S+)$/gm)].map(([, name]) => name!);
  const expected = [...rooms, 'LICENSE', 'package.json', 'package-lock.json', '.npmrc'].sort();
  assert.deepEqual(copied.sort(), expected);
  assert.deepEqual(letIn.sort(), expected);
});

test('its Node is the one of the tests', () => {
  assert.match(dockerfile, new RegExp(`^ARG BASE=\\S+/node:${packageJson.devDependencies.node}-`, 'm'));
});

test('README, docs and Dockerfile name the version that the chart asks for', async () => {
  const [helm] = await helms();
  const { image } = only(await objects(helm!), 'Deployment').spec.template.spec.containers[0];
  assert.equal(image, `lyceum:${packageJson.version}`);
  for (const file of ['README.md', 'docs/install.md', 'Dockerfile']) {
    const named = read(file).match(/\blyceum:\d+\.\d+\.\d+/g) ?? [];
    assert.ok(named.length > 0, file);
    for (const one of named) assert.equal(one, image, file);
  }
});

test('it runs as the user that the chart says', async () => {
  const [helm] = await helms();
  const { runAsUser, runAsGroup } = only(await objects(helm!), 'Deployment').spec.template.spec.securityContext;
  assert.equal(/^USER (.*)$/m.exec(dockerfile)?.[1], `${runAsUser}:${runAsGroup}`);
});
