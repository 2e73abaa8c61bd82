// Where the programs of the API server come from: built, taken from a folder, or a message that says what to install.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { chmodSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach, test } from 'node:test';

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'lyceum-build-'));
  // A machine that has bash, and whatever a test adds.
  symlinkSync(spawnSync('bash', ['-c', 'command -v bash'], { encoding: 'utf8' }).stdout.trim(), join(folder, 'bash'));
});
afterEach(() => rmSync(folder, { recursive: true }));

function program(name: string, script = ''): void {
  writeFileSync(join(folder, name), `#!${join(folder, 'bash')}\n${script}\n`);
  chmodSync(join(folder, name), 0o755);
}

function build(environment: Record<string, string> = {}, ...part: string[]) {
  const env = { PATH: folder, HOME: folder, XDG_CACHE_HOME: join(folder, 'cache'), ...environment };
  return spawnSync(join(import.meta.dirname, 'build.sh'), part, { env, encoding: 'utf8' });
}

test('a machine without Go is told what to install', () => {
  const { status, stdout, stderr } = build();
  assert.equal(status, 1);
  assert.equal(stdout, '');
  assert.match(stderr, /Install Go 1\.26 or newer \(https:\/\/go\.dev\/dl\/\).*KUBEBUILDER_ASSETS/);
});

test('a Go that is too old is told of', () => {
  for (const version of ['go1.9', 'go1.19.13', 'go1.25.4']) {
    program('go', `echo ${version}`);
    const { status, stderr } = build();
    assert.equal(status, 1);
    assert.match(
      stderr,
      new RegExp(`with ${version} these programs cannot be built: .*kube-apiserver[^]*Install Go 1\\.26`),
    );
  }
});

test('a folder of envtest programs is taken as it is', () => {
  for (const name of ['etcd', 'kube-apiserver', 'kubectl']) program(name);
  const { status, stdout } = build({ KUBEBUILDER_ASSETS: folder });
  assert.equal(status, 0);
  assert.equal(stdout, `${folder}\n`);
});

test('a folder of envtest programs that lacks one is refused by its name', () => {
  for (const name of ['etcd', 'kubectl']) program(name);
  const { status, stderr } = build({ KUBEBUILDER_ASSETS: folder });
  assert.equal(status, 1);
  assert.match(stderr, /no program kube-apiserver in it/);
});

test('a folder of envtest programs is no node and no Helm: those are built', () => {
  for (const name of ['etcd', 'kube-apiserver', 'kubectl']) program(name);
  for (const [part, named] of [
    ['node', /etcd.*kubelet.*containerd.*runc.*coredns.*helm/],
    [
      'helm',
      /tests of the chart need Helm 4 and Helm 3, which no folder in KUBEBUILDER_ASSETS has; .*missing: helm-4\S+ helm-3/,
    ],
    ['versitygw', /tests of buckets need an S3 server; these programs are missing: versitygw-/],
  ] as const) {
    const { status, stdout, stderr } = build({ KUBEBUILDER_ASSETS: folder }, part);
    assert.equal(status, 1);
    assert.equal(stdout, '');
    assert.match(stderr, named);
    assert.match(stderr, /Install Go 1\.26 or newer \(https:\/\/go\.dev\/dl\/\) to build them\.\n/);
  }
});

test('a part that does not exist is refused by its name', () => {
  const { status, stderr } = build({}, 'pods');
  assert.equal(status, 1);
  assert.match(stderr, /build\.sh pods: there is no such part/);
});

test('programs that are there already are not built again', () => {
  const refused = build({}, 'helm');
  assert.equal(refused.status, 1);
  const places = { helm4: '', helm3: '' };
  const script = readFileSync(join(import.meta.dirname, 'build.sh'), 'utf8');
  for (const name of ['helm4', 'helm3'] as const) {
    const version = new RegExp(`^${name}=(.+)$`, 'm').exec(script)![1]!;
    places[name] = join(folder, 'cache/lyceum/cluster', `helm-${version}`, 'helm');
    mkdirSync(dirname(places[name]), { recursive: true });
    symlinkSync(join(folder, 'bash'), places[name]);
  }
  const { status, stdout } = build({}, 'helm');
  assert.equal(status, 0);
  assert.deepEqual(JSON.parse(stdout), places);
});
