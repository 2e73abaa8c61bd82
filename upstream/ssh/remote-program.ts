// A program at the other end of an SSH connection: what is written to it, what it answers, and how it ended.
import { once } from 'node:events';
import { setTimeout as pause } from 'node:timers/promises';
import type { ClientChannel } from 'ssh2';
import { UpstreamFault } from '../fault.ts';
import { silentServer } from './faults.ts';

/** Milliseconds from the end of its output until it is told how it ended. */
const longestEnd = 2000;

export interface RemoteProgramOptions {
  /** What messages call the server. */
  name: string;
  /** Milliseconds of silence that end an answer. */
  idleTimeout: number;
  signal: AbortSignal;
  /** Why the connection broke, once it has. */
  lost(): UpstreamFault | undefined;
  /** Called whenever something has arrived. */
  heard(): void;
}

export class RemoteProgram {
  readonly #channel: ClientChannel;
  readonly #options: RemoteProgramOptions;
  readonly #output: AsyncIterator<Buffer>;
  readonly #exit: Promise<number | undefined>;
  #hasEnded = false;

  constructor(channel: ClientChannel, options: RemoteProgramOptions) {
    this.#channel = channel;
    this.#options = options;
    channel.on('error', () => {});
    channel.stderr.on('error', () => {});
    channel.stderr.resume();
    let code: number | undefined;
    channel.on('exit', (status: number | null) => {
      code = status ?? undefined;
    });
    this.#exit = once(channel, 'close').then(
      () => code,
      () => undefined,
    );
    this.#output = channel[Symbol.asyncIterator]();
  }

  /** Nothing more will come of it. */
  get hasEnded(): boolean {
    return this.#hasEnded;
  }

  write(bytes: Buffer): void {
    this.#channel.write(bytes);
  }

  /**
   * The next bytes of its output; undefined at its end.
   * @throws UpstreamFault TimedOut on silence, why the connection broke; the signal's own reason when it aborts
   */
  async next(): Promise<Buffer | undefined> {
    const { name, idleTimeout, signal, lost } = this.#options;
    const silence = Promise.withResolvers<never>();
    const timer = setTimeout(() => silence.reject(silentServer(name)), idleTimeout);
    try {
      const piece = await Promise.race([this.#output.next(), silence.promise]);
      if (piece.done !== true) return piece.value;
      this.#hasEnded = true;
    } catch (error) {
      this.close();
      if (signal.aborted) throw signal.reason;
      throw error instanceof UpstreamFault ? error : (lost() ?? error);
    } finally {
      clearTimeout(timer);
      this.#options.heard();
    }
    if (signal.aborted) throw signal.reason;
    const fault = lost();
    if (fault !== undefined) throw fault;
    return undefined;
  }

  /** Its exit code, once its output has ended; undefined where the server does not tell. */
  async exitCode(): Promise<number | undefined> {
    const late = new AbortController();
    try {
      return await Promise.race([this.#exit, pause(longestEnd, undefined, { signal: late.signal })]);
    } finally {
      late.abort();
    }
  }

  close(): void {
    this.#hasEnded = true;
    this.#channel.destroy();
  }
}
