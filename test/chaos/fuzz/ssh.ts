// What SSH servers say before anything is encrypted, and the known_hosts files that people write.
import { connect, createServer, type Server, type Socket } from 'node:net';
import { UpstreamFault } from '../../../upstream/fault.ts';
import { GuardedClient } from '../../../upstream/guard/client.ts';
import { SshConnection } from '../../../upstream/ssh/connection.ts';
import { sshCredentialsFrom } from '../../../upstream/ssh/credentials.ts';
import { hostKeys, parseKnownHosts } from '../../../upstream/ssh/known-hosts.ts';
import { type SshServerFixture, startSshServer } from '../../fixtures/ssh-server.ts';
import { orFault, type Prepared, type Target } from './target.ts';

export const knownHosts: Target = {
  name: 'known-hosts',
  dictionary: ['|1|', '@revoked ', '@cert-authority ', '[h]:2222', '*', '?', '!', ',', 'ssh-ed25519', 'AAAA', '=', '#'],
  async prepare(): Promise<Prepared> {
    const server = await startSshServer({ hostKeys: ['rsa', 'ecdsa', 'ed25519'] });
    try {
      const hashed = await server.knownHosts({ hashed: true });
      return {
        seeds: [server.secret.known_hosts, hashed, `@revoked ${hashed}`, '*.example.org,!h ssh-rsa AAAA\n'].map(
          (text) => Buffer.from(text),
        ),
        async feed(input) {
          const known = parseKnownHosts(input.toString('utf8'));
          for (const port of [22, server.port]) hostKeys(known, '127.0.0.1', port).verdict(input);
        },
      };
    } finally {
      await server.close();
    }
  },
};

/** What a server says of itself: its version, and which algorithms it knows. */
async function greeting({ port }: SshServerFixture): Promise<Buffer> {
  const socket = connect(port, '127.0.0.1');
  let said = Buffer.alloc(0);
  socket.write('SSH-2.0-tests\r\n');
  for await (const piece of socket as AsyncIterable<Buffer>) {
    said = Buffer.concat([said, piece]);
    const packet = said.indexOf('\r\n') + 2;
    if (packet > 1 && said.length >= packet + 4 && said.length >= packet + 4 + said.readUInt32BE(packet)) break;
  }
  socket.destroy();
  return said;
}

/** Says the present input to everyone, and ends. */
async function impostor(): Promise<{ server: Server; port: number; say(input: Buffer): void }> {
  let said = Buffer.alloc(0);
  const server = createServer((socket: Socket) => {
    socket.on('error', () => {});
    socket.resume();
    socket.end(said);
  });
  server.listen(0, '127.0.0.1');
  await new Promise((resolve) => server.once('listening', resolve));
  const { port } = server.address() as { port: number };
  return {
    server,
    port,
    say: (input) => {
      said = Buffer.from(input);
    },
  };
}

export const handshakes: Target = {
  name: 'handshakes',
  dictionary: [
    'SSH-2.0-',
    'SSH-1.99-',
    '\r\n',
    '\x14',
    '\x1f',
    'curve25519-sha256',
    'ssh-ed25519',
    ',',
    '\0\0\0\0',
    '\xff\xff\xff\xff',
  ],
  async prepare(): Promise<Prepared> {
    const real = await startSshServer();
    const seeds = [await greeting(real)];
    const { identity } = real.secret;
    await real.close();
    const guard = new GuardedClient({ allowLoopback: true, deniedCidrs: [] });
    const { server, port, say } = await impostor();
    const known_hosts = real.secret.known_hosts.replaceAll(`:${real.port}`, `:${port}`);
    const secret = Object.entries({ identity, known_hosts }).map(([key, value]) => [key, Buffer.from(value)] as const);
    const credentials = await sshCredentialsFrom(new Map(secret));
    if (!credentials.ok) throw new Error(`the Secret lacks ${credentials.missing}`);
    const { signal } = new AbortController();
    return {
      seeds,
      async feed(input) {
        say(input);
        await orFault([UpstreamFault], async () => {
          const connection = await SshConnection.open({
            ...{ name: 'server', host: '127.0.0.1', port, user: 'git', credentials, idleTimeout: 1000, signal },
            connect: () => guard.connect('127.0.0.1', port, 'server', signal),
            received: () => {},
          });
          connection.close();
          throw new Error('a connection to what is no SSH server');
        });
      },
      close: async () => {
        await guard.close();
        server.close();
      },
    };
  },
};
