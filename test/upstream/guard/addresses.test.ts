// Which addresses a source may be fetched from.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { addressCheck } from '../../../upstream/guard/addresses.ts';

const check = addressCheck({
  allowLoopback: false,
  deniedCidrs: ['10.20.0.0/16', 'fd12::/16'],
  apiServer: { addresses: ['10.96.0.1', 'kubernetes.default.svc'], port: 443 },
});

/** The host as a URL would carry it: decimal, octal and hexadecimal forms are unfolded there. */
const host = (text: string): string => new URL(`https://${text}/`).hostname;

const closed: [host: string, why: RegExp][] = [
  ['127.0.0.1', /loopback/],
  ['127.8.9.1', /loopback/],
  ['127.1', /loopback/],
  ['2130706433', /loopback/],
  ['0x7f000001', /loopback/],
  ['0177.0.0.1', /loopback/],
  ['127.0.0.1.', /loopback/],
  ['[::1]', /loopback/],
  ['[::ffff:127.0.0.1]', /loopback/],
  ['[::ffff:7f00:1]', /loopback/],
  ['[::127.0.0.1]', /loopback/],
  ['[64:ff9b::127.0.0.1]', /loopback/],
  ['[64:ff9b:1::127.0.0.1]', /loopback/],
  ['[2002:7f00:1::]', /loopback/],
  ['[2001:0:4136:e378:8000:63bf:80ff:fffe]', /loopback/],
  ['169.254.169.254', /link-local/],
  ['[fe80::1]', /link-local/],
  ['[::ffff:169.254.169.254]', /link-local/],
  ['[64:ff9b::a9fe:a9fe]', /link-local/],
  ['[2002:a9fe:a9fe::1]', /link-local/],
  ['[fd00:ec2::254]', /metadata/],
  ['100.100.100.200', /metadata/],
  ['168.63.129.16', /metadata/],
  ['0.0.0.0', /unspecified/],
  ['0.1.2.3', /unspecified/],
  ['[::]', /unspecified/],
  ['224.0.0.1', /multicast/],
  ['[ff02::1]', /multicast/],
  ['255.255.255.255', /broadcast/],
  ['10.20.3.4', /^an address that --deny-cidr closes$/],
  ['[::ffff:10.20.3.4]', /--deny-cidr/],
  ['[fd12::9]', /--deny-cidr/],
  ['10.96.0.1', /API server/],
  ['[::ffff:10.96.0.1]', /API server/],
  ['kubernetes.default.svc', /API server/],
  ['Kubernetes.Default.SVC.', /API server/],
];

for (const [text, why] of closed) {
  test(`${text} is closed to sources`, () => {
    assert.match(check.host(host(text), 443) ?? 'open', why);
  });
}

for (const text of [
  '140.82.121.3',
  '10.1.2.3',
  '192.168.1.9',
  '172.16.0.1',
  '[2606:50c0::1]',
  '[fd99::9]',
  'gitea.git.svc',
]) {
  test(`${text} is open to sources`, () => {
    assert.equal(check.host(host(text), 443), undefined);
  });
}

test('the API server is closed on its own port only', () => {
  assert.equal(check.host('10.96.0.1', 8443), undefined);
  assert.equal(check.host('kubernetes.default.svc', 8443), undefined);
});

test('what is allowed on loopback is loopback alone, and not the API server there', () => {
  const lenient = addressCheck({
    allowLoopback: true,
    deniedCidrs: [],
    apiServer: { addresses: ['127.0.0.1'], port: 6443 },
  });
  assert.equal(lenient.host('127.0.0.1', 3000), undefined);
  assert.equal(lenient.host('[::1]', 3000), undefined);
  assert.match(lenient.host('127.0.0.1', 6443) ?? 'open', /API server/);
  assert.match(lenient.host('169.254.169.254', 80) ?? 'open', /link-local/);
  assert.match(lenient.host('0.0.0.0', 80) ?? 'open', /unspecified/);
});

test('a range that somebody closes is closed on loopback too, where loopback is allowed', () => {
  const lenient = addressCheck({ allowLoopback: true, deniedCidrs: ['127.0.0.0/8'] });
  assert.match(lenient.host('127.0.0.1', 3000) ?? 'open', /--deny-cidr/);
  assert.equal(lenient.host('[::1]', 3000), undefined);
});

test('an address with a zone is judged by its address', () => {
  assert.match(check.address('fe80::1%eth0', 443) ?? 'open', /link-local/);
});

test('a range that is none is refused by its name', () => {
  assert.throws(
    () => addressCheck({ allowLoopback: false, deniedCidrs: ['10.0.0.0/99'] }),
    /"10\.0\.0\.0\/99".*10\.0\.0\.0\/8/,
  );
});
