// The options of `lyceum operator` on the pods of gateways.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Command } from 'commander';
import { addPodOptions, podSettings } from '../../cli/operator/pod-options.ts';
import type { PodSettings } from '../../operator/gateway/render.ts';

function settings(...args: string[]): PodSettings | undefined {
  const quiet = { writeErr() {} };
  const command = addPodOptions(new Command().exitOverride().configureOutput(quiet)).parse(args, { from: 'user' });
  return podSettings(command.opts(), 'own');
}

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
  });
});

test('all that there is to say', () => {
  const given = [
    ...['--volume-claim', 'catalogue', '--gateway-image', 'lyceum:1', '--gateway-image-pull-policy', 'Never'],
    ...['--gateway-image-pull-secrets', 'a, b', '--operator-namespace', 'other'],
    ...['--keep-together', 'app.kubernetes.io/name=lyceum, app.kubernetes.io/instance=one,empty='],
  ];
  assert.deepEqual(settings(...given), {
    volumeClaim: 'catalogue',
    image: 'lyceum:1',
    imagePullPolicy: 'Never',
    imagePullSecrets: ['a', 'b'],
    namespace: 'other',
    keepTogether: { 'app.kubernetes.io/name': 'lyceum', 'app.kubernetes.io/instance': 'one', empty: '' },
  });
});

test('a claim without an image is refused, with what to give', () => {
  assert.throws(() => settings('--volume-claim', 'catalogue'), /--volume-claim needs --gateway-image/);
});

test('labels that are none are refused', () => {
  for (const text of ['app', 'app in (a)', 'a=b,', '=b', 'a=b=c']) {
    assert.throws(() => settings('--keep-together', text), /labels are written as key=value/, text);
  }
});
