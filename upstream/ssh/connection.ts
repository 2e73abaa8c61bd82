// One SSH connection to a host whose key is known, as one user with one key, and programs that are run over it.
import type { Socket } from 'node:net';
import type { Client, ClientChannel, PublicKeyAuthMethod } from 'ssh2';
import type { UpstreamFault } from '../fault.ts';
import type { SshCredentials } from './credentials.ts';
import { connectionFault, lostConnection, shellRefused, silentServer, unknownHost, wrongHostKey } from './faults.ts';
import { type HostKeyType, hostKeys } from './known-hosts.ts';
import { RemoteProgram } from './remote-program.ts';

export interface SshOptions {
  /** What messages call the server. */
  name: string;
  /** A name or an address, without brackets. */
  host: string;
  port: number;
  user: string;
  credentials: SshCredentials;
  /** Makes the connection that SSH is spoken over; its addresses are checked there. */
  connect(): Promise<Socket>;
  /** Milliseconds that the handshake may take, and of silence in an answer. */
  idleTimeout: number;
  signal: AbortSignal;
  /** Told bytes on the wire as they arrive. */
  received(bytes: number): void;
}

const rsa = ['rsa-sha2-512', 'rsa-sha2-256'] as const;
const signaturesOf = (type: HostKeyType) => (type === 'ssh-rsa' ? rsa : [type]);

const algorithms = {
  kex: [
    'curve25519-sha256',
    'curve25519-sha256@libssh.org',
    'ecdh-sha2-nistp256',
    'ecdh-sha2-nistp384',
    'ecdh-sha2-nistp521',
    'diffie-hellman-group16-sha512',
    'diffie-hellman-group14-sha256',
  ],
  cipher: [
    'aes128-gcm@openssh.com',
    'aes256-gcm@openssh.com',
    'chacha20-poly1305@openssh.com',
    'aes128-ctr',
    'aes192-ctr',
    'aes256-ctr',
  ],
  hmac: ['hmac-sha2-256-etm@openssh.com', 'hmac-sha2-512-etm@openssh.com', 'hmac-sha2-256', 'hmac-sha2-512'],
  compress: ['none'],
} as const;

export class SshConnection {
  readonly #options: SshOptions;
  readonly #client: Client;
  readonly #socket: Socket;
  #fault: UpstreamFault | undefined;
  #counted = 0;

  private constructor(options: SshOptions, client: Client, socket: Socket) {
    this.#options = options;
    this.#client = client;
    this.#socket = socket;
  }

  /** @throws UpstreamFault TLSFailed for a host key that is not known, AuthenticationFailed, and whatever the guard finds; the signal's own reason when it aborts */
  static async open(options: SshOptions): Promise<SshConnection> {
    const { name, host, port, user, credentials, idleTimeout, signal } = options;
    const known = hostKeys(credentials.knownHosts, host, port);
    if (known.types.length === 0) throw unknownHost(name, known);
    const socket = await options.connect();
    const client = new (await import('ssh2')).default.Client();
    const connection = new SshConnection(options, client, socket);
    const byKey: PublicKeyAuthMethod = { type: 'publickey', username: user, key: credentials.identity };
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    const fail = (fault: UpstreamFault): void => reject(connection.#fail(fault));
    client.on('ready', resolve);
    client.on('error', (error) => fail(connectionFault(name, error)));
    client.on('close', () => fail(lostConnection(name)));
    const onAbort = (): void => {
      reject(signal.reason);
      socket.destroy();
    };
    signal.addEventListener('abort', onAbort, { once: true });
    client.once('close', () => signal.removeEventListener('abort', onAbort));
    if (signal.aborted) onAbort();
    else {
      client.connect({
        sock: socket,
        username: user,
        authHandler: [byKey],
        hostVerifier: (key: Buffer) => {
          const verdict = known.verdict(key);
          if (verdict !== 'known') fail(wrongHostKey(name, verdict));
          return verdict === 'known';
        },
        algorithms: {
          kex: [...algorithms.kex],
          cipher: [...algorithms.cipher],
          hmac: [...algorithms.hmac],
          compress: [...algorithms.compress],
          serverHostKey: known.types.flatMap(signaturesOf),
        },
        readyTimeout: idleTimeout,
      });
    }
    try {
      await promise;
    } catch (error) {
      socket.destroy();
      throw error;
    } finally {
      connection.#count();
    }
    return connection;
  }

  /** It can still run programs. */
  get isOpen(): boolean {
    return this.#fault === undefined && !this.#socket.destroyed;
  }

  /**
   * @param command a line for the user's shell there
   * @param environment what the server is asked to set; it may not
   * @throws UpstreamFault AccessDenied where the server does not run it
   */
  async run(command: string, environment: Record<string, string>): Promise<RemoteProgram> {
    const { name, idleTimeout, signal } = this.#options;
    const channel = await new Promise<ClientChannel>((resolve, reject) => {
      const timer = setTimeout(() => this.#fail(silentServer(name)), idleTimeout);
      this.#client.exec(command, { env: environment }, (error, opened) => {
        clearTimeout(timer);
        if (error === undefined || error === null) resolve(opened);
        else reject(signal.aborted ? signal.reason : (this.#fault ?? shellRefused(name)));
      });
    });
    return new RemoteProgram(channel, {
      ...{ name, idleTimeout, signal },
      lost: () => this.#fault,
      heard: () => this.#count(),
    });
  }

  close(): void {
    if (this.isOpen) this.#client.end();
    this.#socket.destroySoon();
  }

  /** @returns why the connection broke: what was found first */
  #fail(fault: UpstreamFault): UpstreamFault {
    this.#fault ??= fault;
    this.#socket.destroy();
    return this.#fault;
  }

  /** Tells what has arrived since the last time. */
  #count(): void {
    this.#options.received(this.#socket.bytesRead - this.#counted);
    this.#counted = this.#socket.bytesRead;
  }
}
