// known_hosts: which lines speak of a host, held against ssh-keygen, and what they say of a key.
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { promisify } from 'node:util';
import { hostKeys, parseKnownHosts } from '../../../upstream/ssh/known-hosts.ts';

const run = promisify(execFile);

/** What stands for a key of ed25519: its type, then 32 bytes of one value. */
const blob = (value: number): Buffer =>
  Buffer.concat([Buffer.from('\0\0\0\x0bssh-ed25519\0\0\0 ', 'latin1'), Buffer.alloc(32, value)]);
const line = (hosts: string, value: number): string => `${hosts} ssh-ed25519 ${blob(value).toString('base64')}`;

let folder: string;
before(async () => {
  folder = await mkdtemp(join(tmpdir(), 'lyceum-known-hosts-'));
});
after(() => rm(folder, { recursive: true, force: true }));

describe('lines that speak of a host are those that OpenSSH finds', () => {
  const lines = [
    'git.example.org',
    'git.example.org,192.0.2.7',
    '*.example.org,!git.example.org',
    '!git.example.org,*.example.org',
    '*.example.org',
    'g?t.example.org',
    '*',
    '**.org',
    'GIT.Example.org',
    '[git.example.org]:2222',
    '[*.example.org]:2222',
    'example.org',
    'git.example.org.evil',
    '2001:db8::1',
    '[2001:db8::1]:2222',
  ];
  const names: [shown: string, host: string, port: number][] = [
    ['git.example.org', 'git.example.org', 22],
    ['[git.example.org]:2222', 'git.example.org', 2222],
    ['192.0.2.7', '192.0.2.7', 22],
    ['2001:db8::1', '2001:db8::1', 22],
    ['[2001:db8::1]:2222', '2001:db8::1', 2222],
  ];
  for (const hashed of [false, true]) {
    test(hashed ? 'with hashed names' : 'as they are written', async () => {
      for (const [index, hosts] of lines.entries()) {
        const plain = /^[^*?!,]+$/.test(hosts);
        if (hashed && !plain) continue;
        const file = join(folder, `${hashed}-${index}`);
        await writeFile(file, `${line(hosts, 1)}\n`);
        if (hashed) await run('ssh-keygen', ['-H', '-f', file]);
        const text = await readFile(file, 'utf8');
        for (const [shown, host, port] of names) {
          const finds = (name: string) =>
            run('ssh-keygen', ['-F', name, '-f', file]).then(
              ({ stdout }) => stdout !== '',
              () => false,
            );
          const found = (await finds(shown)) || (await finds(host));
          const known = hostKeys(parseKnownHosts(text), host, port).types.length > 0;
          assert.equal(known, found, `${hosts} and ${shown}`);
        }
      }
    });
  }
});

test('a name without a port counts for every port, unless one has lines of its own', () => {
  const plain = parseKnownHosts(line('h', 1));
  assert.equal(hostKeys(plain, 'h', 2222).verdict(blob(1)), 'known');
  const both = parseKnownHosts(`${line('h', 1)}\n${line('[h]:2222', 2)}`);
  assert.equal(hostKeys(both, 'h', 2222).verdict(blob(1)), 'other');
  assert.equal(hostKeys(both, 'h', 2222).verdict(blob(2)), 'known');
  assert.equal(hostKeys(both, 'h', 22).verdict(blob(1)), 'known');
});

test('a key is known, another one, or revoked, which goes before known', () => {
  const known = parseKnownHosts(`${line('h', 1)}\r\n${line('h', 2)} a comment\n@revoked ${line('*', 2)}\n`);
  const { verdict, types } = hostKeys(known, 'H', 22);
  assert.deepEqual([1, 2, 3].map(blob).map(verdict), ['known', 'revoked', 'other']);
  assert.deepEqual(types, ['ssh-ed25519']);
});

test('an authority is no key of the host', () => {
  const { types, certified } = hostKeys(parseKnownHosts(`@cert-authority ${line('*', 1)}`), 'h', 22);
  assert.deepEqual({ types, certified }, { types: [], certified: true });
});

test('types come in the order of preference, those that are not checked not at all', () => {
  const key = 'AAAA';
  const text = ['ssh-rsa', 'ssh-dss', 'sk-ssh-ed25519@openssh.com', 'ecdsa-sha2-nistp521', 'ssh-ed25519'];
  const known = parseKnownHosts(text.map((type) => `h ${type} ${key}`).join('\n'));
  assert.deepEqual(hostKeys(known, 'h', 22).types, ['ssh-ed25519', 'ecdsa-sha2-nistp521', 'ssh-rsa']);
});

test('comments, blank lines and what is no line of known_hosts are passed over', () => {
  const text = [
    '',
    '# h ssh-ed25519 AAAA',
    'h',
    'h ssh-ed25519',
    '@other h ssh-ed25519 AAAA',
    'h ssh-ed25519 %%%',
    '|1|x|y ssh-ed25519 AAAA',
  ];
  assert.deepEqual(hostKeys(parseKnownHosts(text.join('\n')), 'h', 22).types, []);
});

test('patterns that are made to be slow are not', () => {
  const known = parseKnownHosts(line(`${'*a'.repeat(500)}b`, 1));
  const began = performance.now();
  for (let turn = 0; turn < 100; turn++) hostKeys(known, 'a'.repeat(250), 22);
  assert.ok(performance.now() - began < 2000);
});
