// One repository's server over SSH: git-upload-pack is run there, and keeps its end of a conversation open.
import { UpstreamFault } from '../fault.ts';
import { newPace } from '../pace.ts';
import { SshConnection, type SshOptions } from '../ssh/connection.ts';
import { type Advertisement, readAdvertisement } from './advertisement.ts';
import { ByteStream } from './byte-stream.ts';
import { flush } from './pkt-line.ts';
import { type GitServer, mostAdvertised } from './server.ts';
import { UploadPack } from './upload-pack.ts';

export interface SshGitServerOptions extends SshOptions {
  /** Of the repository on the server: `/team/pack.git`, or `~user/pack.git` in a user's home. */
  path: string;
}

export class SshGitServer implements GitServer {
  readonly #options: SshGitServerOptions;
  #connection: SshConnection | undefined;
  /** What runs, has advertised itself, and waits for a request. */
  #waiting: { version: 0 | 2; program: UploadPack } | undefined;

  constructor(options: SshGitServerOptions) {
    this.#options = options;
  }

  get signal(): AbortSignal {
    return this.#options.signal;
  }

  get name(): string {
    return this.#options.name;
  }

  /** @throws UpstreamFault NotFound where git-upload-pack finds no repository, and whatever SSH finds */
  async advertisement(version: 0 | 2, wanted: ReadonlySet<string>): Promise<Advertisement> {
    const program = await this.#start(version);
    const stream = new ByteStream(program.answer(mostAdvertised));
    await stream.fill(1);
    if (stream.held.length === 0) throw await this.#nothingSaid(program);
    const advertisement = await readAdvertisement(stream, this.name, wanted, newPace(this.signal));
    this.#waiting = { version: advertisement.version, program };
    return advertisement;
  }

  /** Where the program of the last request has ended, another is started. @throws UpstreamFault, whatever SSH finds */
  async request(body: Buffer, version: 0 | 2, maxBytes: number): Promise<AsyncIterable<Buffer>> {
    if (this.#waiting?.version !== version || !this.#waiting.program.isWaiting) {
      const advertised = await this.advertisement(version, new Set());
      if (advertised.version !== version) {
        throw new UpstreamFault('UpstreamInvalid', `${this.name} speaks another version of git's protocol than before`);
      }
    }
    const { program } = this.#waiting!;
    program.write(body);
    return version === 2 ? program.answer(maxBytes) : program.rest(maxBytes);
  }

  close(): void {
    this.#waiting?.program.write(Buffer.from(flush));
    this.#waiting = undefined;
    this.#connection?.close();
    this.#connection = undefined;
  }

  async #start(version: 0 | 2): Promise<UploadPack> {
    this.#waiting?.program.close();
    this.#waiting = undefined;
    if (this.#connection?.isOpen !== true) this.#connection = await SshConnection.open(this.#options);
    const environment: Record<string, string> = version === 2 ? { GIT_PROTOCOL: 'version=2' } : {};
    const command = `git-upload-pack ${quoted(this.#options.path)}`;
    return new UploadPack(await this.#connection.run(command, environment), this.name);
  }

  async #nothingSaid(program: UploadPack): Promise<UpstreamFault> {
    if ((await program.exitCode()) === 127) {
      return new UpstreamFault('UpstreamInvalid', `${this.name} has no git-upload-pack; install git there`);
    }
    return new UpstreamFault(
      'NotFound',
      `${this.name} has no repository at this path, or does not show it to the key of spec.secretRef; check spec.url and what that key may read`,
    );
  }
}

/** As git quotes for a shell (quote.c): a history expansion stays a text too. */
const quoted = (text: string): string => `'${text.replace(/['!]/g, (character) => `'\\${character}'`)}'`;
