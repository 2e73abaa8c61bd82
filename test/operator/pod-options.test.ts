// The options of `lyceum operator` on the pods of gateways.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Command } from 'commander';
import { addPodOptions, podSettings } from '../../cli/operator/pod-options.ts';
import type { PodSettings } from '../../operator/gateway/children/pod-settings.ts';

function settings(...args: string[]): PodSettings | undefined {
  const quiet = { writeErr() {} };
  const command = addPodOptions(new Command().exitOverride().configureOutput(quiet)).parse(args, { from: 'user' });
  return podSettings(command.opts(), 'own', {});
}

test('what holds for fetching is handed on to servers that fetch as well', () => {
  const flags = { volumeClaim: 'catalogue', gatewayImage: 'lyceum:1', denyCidr: ['10.0.0.0/8'] };
  const found = podSettings(flags, 'own', { https_proxy: 'http://proxy:3128', NO_PROXY: '.svc', PATH: '/bin' });
  assert.deepEqual(found?.fetching, {
    deniedCidrs: ['10.0.0.0/8'],
    environment: { HTTPS_PROXY: 'http://proxy:3128', NO_PROXY: '.svc' },
  });
  const withPassword = { HTTPS_PROXY: 'http://ann:hunter2@proxy:3128' };
  assert.doesNotMatch(JSON.stringify(podSettings(flags, 'own', withPassword)), /hunter2/);
});

test('without a claim no pods are started', () => {
  assert.equal(settings(), undefined);
  assert.equal(settings('--gateway-image', 'lyceum:1', '--volume-claim', ''), undefined);
});

test('a claim and an image are enough: the claim is in the namespace of the operator', () => {
  assert.deepEqual(settings('--volume-claim', 'catalogue', '--gateway-image', 'lyceum:1'), {
    volumeClaim: 'catalogue',
    image: 'lyceum:1',
    imagePullPolicy: undefined,
    imagePullSecrets: [],
    namespace: 'own',
    keepTogether: undefined,
    operator: undefined,
  });
});

test('all that there is to say', () => {
  const given = [
    ...['--volume-claim', 'catalogue', '--gateway-image', 'lyceum:1', '--gateway-image-pull-policy', 'Never'],
    ...['--gateway-image-pull-secrets', 'a, b', '--operator-namespace', 'other'],
    ...['--keep-together', 'app.kubernetes.io/name=lyceum, app.kubernetes.io/instance=one,empty='],
    ...['--callers-url', 'https://lyceum-operator.own.svc:9443', '--callers-ca-secret', 'lyceum-operator-tls'],
  ];
  assert.deepEqual(settings(...given), {
    volumeClaim: 'catalogue',
    image: 'lyceum:1',
    imagePullPolicy: 'Never',
    imagePullSecrets: ['a', 'b'],
    namespace: 'other',
    keepTogether: { 'app.kubernetes.io/name': 'lyceum', 'app.kubernetes.io/instance': 'one', empty: '' },
    operator: { url: 'https://lyceum-operator.own.svc:9443', caSecret: 'lyceum-operator-tls' },
  });
});

test('a claim without an image is refused, with what to give', () => {
  assert.throws(() => settings('--volume-claim', 'catalogue'), /--volume-claim needs --gateway-image/);
});

test("the operator's port without the authority of its certificate, or without TLS, is refused", () => {
  const given = ['--volume-claim', 'catalogue', '--gateway-image', 'lyceum:1', '--callers-url'];
  assert.throws(() => settings(...given, 'https://operator:9443'), /--callers-url needs --callers-ca-secret/);
  for (const url of ['http://operator:9443', 'operator:9443', '//operator']) {
    assert.throws(() => settings(...given, url, '--callers-ca-secret', 'tls'), /begins with https:/, url);
  }
});

test('what holds the authorities of the installation is named by kind, name and key', () => {
  const of = (text: string) =>
    settings('--volume-claim', 'catalogue', '--gateway-image', 'lyceum:1', '--gateway-extra-ca', text)?.fetching;
  const extraCa = { kind: 'configMap', name: 'authorities', key: 'ca.crt' };
  assert.deepEqual(of('configmap/authorities/ca.crt'), { deniedCidrs: [], environment: {}, extraCa });
  assert.deepEqual(of('secret/a.b/root_1.pem')?.extraCa, { kind: 'secret', name: 'a.b', key: 'root_1.pem' });
  assert.equal(of(''), undefined);
  for (const text of ['authorities', 'configmap/authorities', 'pod/a/b', 'secret/a/../b', 'secret/A/b', 'secret//b']) {
    assert.throws(() => of(text), /configmap\/NAME\/KEY/, text);
  }
});

test('labels that are none are refused', () => {
  for (const text of ['app', 'app in (a)', 'a=b,', '=b', 'a=b=c']) {
    assert.throws(() => settings('--keep-together', text), /labels are written as key=value/, text);
  }
});
