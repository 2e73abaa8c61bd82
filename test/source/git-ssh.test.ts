// Git sources over SSH, against Debian's sshd and git's own git-upload-pack.
import assert from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, afterEach, before, beforeEach, describe, test } from 'node:test';
import { SourceFault } from '../../operator/reasons.ts';
import { look, newMemory } from '../fixtures/git-look.ts';
import { GitFixture } from '../fixtures/git-repository.ts';
import { fault, gitServerKinds, pack, readerOf } from '../fixtures/git-suite.ts';
import { type SshServerFixture, startSshServer } from '../fixtures/ssh-server.ts';

let root: string;
let server: SshServerFixture;
let count = 0;

before(async () => {
  root = await mkdtemp(join(tmpdir(), 'lyceum-git-ssh-'));
  server = await startSshServer({ hostKeys: ['rsa', 'ecdsa', 'ed25519'] });
});
after(async () => {
  await server.close();
  await rm(root, { recursive: true, force: true });
});
beforeEach(() => {
  server.connections.length = 0;
});
afterEach(() => {
  server.after = undefined;
});

const repository = async (
  partialClone = true,
  name = `r${++count}.git`,
): Promise<{ repo: GitFixture; folder: string }> => {
  const folder = join(root, name);
  return { repo: await GitFixture.create(folder, { partialClone }), folder };
};

/** A repository that has the pack, and its address. */
const packed = async (): Promise<{ repo: GitFixture; url: string; commit: string }> => {
  const { repo, folder } = await repository();
  return { repo, url: server.sourceUrl(folder), commit: await repo.commitFiles(pack) };
};

for (const kind of gitServerKinds) {
  describe(`a git server ${kind} over SSH`, () => {
    let own: SshServerFixture;
    before(async () => {
      own = kind === 'of version 0' ? await startSshServer({ versionZero: true }) : server;
    });
    after(async () => {
      if (own !== server) await own.close();
    });

    test('gives every file byte by byte, branches, tags and commits, and says what is not there', async () => {
      const { repo, folder } = await repository(kind === 'with partial clone');
      const url = own.sourceUrl(folder);
      const { secret } = own;
      await assert.rejects(look(url, { secret }), fault('NotFound', /empty/));
      const commit = await repo.commitFiles(pack);
      const team = await repo.commitFiles({ a: 'team' }, { reference: 'refs/heads/team' });
      await repo.reference('refs/tags/v1', await repo.tag(commit, 'v1'));
      await repo.repack();
      const found = await look(url, { secret });
      assert.equal(found.reader, readerOf(kind));
      assert.equal(found.revision, `main@sha1:${commit}`);
      assert.deepEqual([...found.files.keys()].sort(), Object.keys(pack).sort());
      for (const [path, content] of Object.entries(pack)) {
        assert(found.files.get(path)?.equals(Buffer.from(content as string)), path);
      }
      assert.ok(found.received > 10_000, `${found.received} bytes`);
      assert.equal((await look(url, { secret, ref: 'team' })).files.get('a')?.toString(), 'team');
      assert.equal((await look(url, { secret, ref: 'v1' })).revision, `v1@sha1:${commit}`);
      assert.equal((await look(url, { secret, ref: team })).files.get('a')?.toString(), 'team');
      await assert.rejects(look(url, { secret, ref: 'other' }), fault('NotFound', /spec\.ref/));
      await assert.rejects(look(url, { secret, ref: '1'.repeat(40) }), fault('NotFound', /no such commit/));
    });
  });
}

test('a look is one connection, and a look that finds nothing new transfers no content', async () => {
  const { url } = await packed();
  const memory = newMemory();
  const { secret } = server;
  await look(url, { secret, memory });
  assert.equal(server.connections.length, 1);
  server.connections.length = 0;
  await look(url, { secret, memory, want: () => false });
  assert.equal(server.connections.length, 1);
  assert.ok(server.connections[0]!.bytesOut < 8000, `${server.connections[0]!.bytesOut} bytes`);
});

test('a change transfers what changed', async () => {
  const { repo, url, commit } = await packed();
  const memory = newMemory();
  const { secret } = server;
  await look(url, { secret, memory });
  server.connections.length = 0;
  await repo.commitFiles({ ...pack, 'README.md': 'new' }, { parent: commit });
  const found = await look(url, { secret, memory, want: ({ path }) => path === 'README.md' });
  assert.equal(found.files.get('README.md')?.toString(), 'new');
  assert.ok(server.connections[0]!.bytesOut < 8000, `${server.connections[0]!.bytesOut} bytes`);
});

test('names of repositories reach git whole: quotes, exclamation marks, blanks, dollars', async () => {
  const { repo, folder } = await repository(true, "it's! a $(touch canary) `pack`;.git");
  await repo.commitFiles({ a: '1' });
  const escaped = folder.split('/').map(encodeURIComponent).join('/');
  assert.equal((await look(server.sourceUrl(escaped), server)).files.get('a')?.toString(), '1');
});

describe('an identity', () => {
  for (const [what, type, ...more] of [
    ['of ed25519', 'ed25519'],
    ['of ECDSA', 'ecdsa', '-b', '384'],
    ['of RSA', 'rsa'],
    ['of RSA in PEM', 'rsa', '-m', 'PEM'],
    ['of ECDSA in PEM', 'ecdsa', '-m', 'PEM'],
  ] as const) {
    test(`${what} opens the repository`, async () => {
      const { url } = await packed();
      const identity = await server.newIdentity(type, ...more);
      assert.equal((await look(url, { secret: { ...server.secret, identity } })).files.size, 6);
    });
  }

  test('that the server does not know is AuthenticationFailed, and names what to mend', async () => {
    const { url } = await packed();
    const other = await startSshServer();
    try {
      const secret = { ...server.secret, identity: other.secret.identity };
      await assert.rejects(look(url, { secret }), fault('AuthenticationFailed', /public key/));
    } finally {
      await other.close();
    }
  });

  test('and known_hosts that a Secret lacks, or that are no such thing, are SecretNotFound', async () => {
    const { url } = await packed();
    const { identity, known_hosts } = server.secret;
    const locked = await server.newIdentity('ed25519', '-N', 'canary');
    const rejected = (secret: Record<string, string>, message: RegExp) =>
      assert.rejects(look(url, { secret }), (error) => {
        assert(error instanceof SourceFault, String(error));
        assert.equal(error.reason, 'SecretNotFound');
        assert.match(error.message, message);
        assert.doesNotMatch(error.message, /canary/);
        return true;
      });
    await rejected({}, /lacks identity/);
    await rejected({ username: 'ada', password: 'canary' }, /lacks identity/);
    await rejected({ known_hosts, identity: 'canary' }, /lacks identity .*ssh-keygen/);
    await rejected({ known_hosts, identity: locked }, /without a passphrase/);
    await rejected({ identity }, /lacks known_hosts/);
    await rejected({ identity, known_hosts: '# canary\n' }, /lacks known_hosts/);
    assert.equal(server.connections.length, 0);
  });
});

describe('the host key', () => {
  test('is compared with known_hosts, hashed or not, with whatever types that has', async () => {
    const { url } = await packed();
    const lines = server.secret.known_hosts.trim().split('\n');
    assert.equal(lines.length, 3);
    const hashed = await server.knownHosts({ hashed: true });
    assert.doesNotMatch(hashed, /127\.0\.0\.1/);
    for (const known_hosts of [...lines, hashed]) {
      assert.equal((await look(url, { secret: { ...server.secret, known_hosts } })).files.size, 6, known_hosts);
    }
  });

  test('of a host that known_hosts does not have is TLSFailed, before anything is connected', async () => {
    const { url } = await packed();
    const elsewhere = server.secret.known_hosts.replaceAll('127.0.0.1', 'git.example.org');
    const authority = server.secret.known_hosts.replace(/^/gm, '@cert-authority ');
    for (const [known_hosts, message] of [
      [elsewhere, /known_hosts has no key of this host.*ssh-keyscan/],
      [authority, /certificate authority/],
    ] as const) {
      await assert.rejects(look(url, { secret: { ...server.secret, known_hosts } }), fault('TLSFailed', message));
    }
    assert.equal(server.connections.length, 0);
  });

  test('that is another, or is revoked, is TLSFailed, and the identity is not shown', async () => {
    const { url } = await packed();
    const other = await startSshServer();
    try {
      const wrong = other.secret.known_hosts.replaceAll(`:${other.port}`, `:${server.port}`);
      const ed25519 = server.secret.known_hosts.split('\n').find((line) => line.includes('ssh-ed25519'))!;
      for (const [known_hosts, message] of [
        [wrong, /another host key/],
        [`${ed25519}\n@revoked ${ed25519}\n`, /@revoked/],
      ] as const) {
        await assert.rejects(look(url, { secret: { ...server.secret, known_hosts } }), fault('TLSFailed', message));
      }
      const ecdsa = server.secret.known_hosts.split('\n').find((line) => line.includes('ecdsa'))!;
      await assert.rejects(
        look(other.sourceUrl('/x'), {
          secret: { ...server.secret, known_hosts: ecdsa.replace(`:${server.port}`, `:${other.port}`) },
        }),
        fault('TLSFailed', /of a type that .* known_hosts has/),
      );
    } finally {
      await other.close();
    }
  });
});

describe('a server', () => {
  test('without the repository is NotFound, and what git says there is not repeated', async () => {
    await assert.rejects(look(server.sourceUrl('/nowhere/canary.git'), server), fault('NotFound', /check spec\.url/));
  });

  test('that runs nothing, or no git, says so by name', async () => {
    const { folder } = await repository();
    for (const [command, reason] of [
      ['echo canary >&2; exit 127', 'UpstreamInvalid'],
      ['echo canary', 'UpstreamInvalid'],
      ['exit 1', 'NotFound'],
    ] as const) {
      const forced = await startSshServer({ settings: [`ForceCommand ${command}`] });
      try {
        await assert.rejects(look(forced.sourceUrl(folder), forced), fault(reason));
      } finally {
        await forced.close();
      }
    }
    const closed = await startSshServer({ settings: ['MaxSessions 0'] });
    try {
      await assert.rejects(look(closed.sourceUrl(folder), closed), fault('AccessDenied', /git-upload-pack/));
    } finally {
      await closed.close();
    }
  });

  test('that is silent, at any point, is TimedOut; one that cuts the connection is named', async () => {
    const { url } = await packed();
    await look(url, server);
    const whole = server.connections[0]!.bytesOut;
    for (const bytes of [0, 10, 1000, 2500, whole - 2000]) {
      server.after = { bytes, next: 'silence' };
      await assert.rejects(look(url, { ...server, guard: { idleTimeout: 400 } }), fault('TimedOut'), `${bytes} bytes`);
      server.after = { bytes, next: 'cut' };
      await assert.rejects(
        look(url, server),
        (error) =>
          ['Unreachable', 'UpstreamInvalid'].includes((error as { reason: string }).reason) &&
          !/canary/.test(String(error)),
        `${bytes} bytes`,
      );
    }
  });

  test('that is no SSH server, or talks without end before it says so, is refused by name', async () => {
    const lines = [
      'HTTP/1.1 400 canary\r\n\r\n',
      'SSH-1.0-canary\r\n',
      'canary\r\n'.repeat(5000),
      'x'.repeat(20_000),
      'SSH-2.0-x\r\ncanary'.repeat(999),
    ];
    for (const said of lines) {
      const impostor = createServer((socket) => {
        socket.on('error', () => {});
        socket.end(said);
      });
      impostor.listen(0, '127.0.0.1');
      await new Promise((resolve) => impostor.once('listening', resolve));
      const { port } = impostor.address() as { port: number };
      const known_hosts = server.secret.known_hosts.replaceAll(`:${server.port}`, `:${port}`);
      const secret = { ...server.secret, known_hosts };
      try {
        await assert.rejects(
          look(`git+ssh://git@127.0.0.1:${port}/x`, { secret, guard: { idleTimeout: 400 } }),
          (error) => {
            const { reason, message } = error as { reason: string; message: string };
            assert.match(reason, /^(Unreachable|UpstreamInvalid|TimedOut|TLSFailed)$/, message);
            assert.doesNotMatch(message, /canary/);
            return true;
          },
        );
      } finally {
        impostor.close();
      }
    }
  });

  test('that floods what it says beside its answer is read, or given up in bounded memory', async () => {
    const { url, repo } = await packed();
    await look(url, server);
    const flood = await startSshServer({
      settings: [`ForceCommand head -c 30000000 /dev/zero >&2; exec git-upload-pack ${repo.folder}`],
    });
    try {
      assert.equal((await look(flood.sourceUrl(repo.folder), flood)).files.size, 6);
    } finally {
      await flood.close();
    }
  });

  test('at an address that is closed to sources is AddressNotAllowed, by name too', async () => {
    const { folder } = await repository();
    const url = server.sourceUrl(folder);
    const known_hosts = server.secret.known_hosts.replaceAll('127.0.0.1', '*');
    const secret = { ...server.secret, known_hosts };
    const guard = { allowLoopback: false };
    for (const host of ['127.0.0.1', 'localhost', '[::ffff:127.0.0.1]', '2130706433', '0177.0.0.1']) {
      await assert.rejects(look(url.replace('127.0.0.1', host), { secret, guard }), fault('AddressNotAllowed'), host);
    }
    await assert.rejects(
      look('git+ssh://git@10.1.2.3/x', {
        secret: { ...secret, known_hosts: secret.known_hosts.replaceAll(/\[\*\]:\d+/g, '*') },
        guard: { deniedCidrs: ['10.0.0.0/8'] },
      }),
      fault('AddressNotAllowed'),
    );
    assert.equal(server.connections.length, 0);
  });

  test('that refuses connections is Unreachable', async () => {
    const known_hosts = server.secret.known_hosts.replaceAll(`:${server.port}`, ':1');
    await assert.rejects(
      look('git+ssh://git@127.0.0.1:1/x', { secret: { ...server.secret, known_hosts } }),
      fault('Unreachable', /refuses connections/),
    );
  });
});

test('a look that is given up ends at once with its own reason', async () => {
  const { url } = await packed();
  server.after = { bytes: 2500, next: 'silence' };
  const controller = new AbortController();
  const reason = new Error('the operator stops');
  const looking = look(url, { ...server, signal: controller.signal });
  const ended = assert.rejects(looking, reason);
  const timer = setInterval(() => {
    if ((server.connections[0]?.bytesOut ?? 0) > 2500) controller.abort(reason);
  }, 10);
  await ended.finally(() => clearInterval(timer));
});
