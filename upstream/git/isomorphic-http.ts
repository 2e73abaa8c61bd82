// What isomorphic-git does over HTTP, led through the guard: it is shown whole answers of references that were asked for, and no pack.
import type { GitHttpRequest, GitHttpResponse, HttpClient } from 'isomorphic-git';
import { UpstreamFault } from '../fault.ts';
import { newPace } from '../pace.ts';
import { type Advertisement, linesToFlush, readerFor } from './advertisement.ts';
import { ByteStream } from './byte-stream.ts';
import { flush, packetLine } from './pkt-line.ts';
import { parseReference } from './references.ts';
import type { GitServer } from './server.ts';

const mostReferences = 16 * 2 ** 20;

export interface IsomorphicHttpOptions {
  server: GitServer;
  /** The server's first, asked with version 2. */
  advertisement: Advertisement;
  /** Full names of the references that may be told. */
  wanted: ReadonlySet<string>;
  /**
   * Sends a fetch of version 0 and reads the pack of its answer.
   * @returns the lines before the pack
   */
  fetch(body: Buffer): Promise<string[]>;
}

/**
 * Everything isomorphic-git's own parts would accept without a word is refused here: answers that break off, other kinds
 * of content, error packets.
 */
export class IsomorphicHttp implements HttpClient {
  readonly #options: IsomorphicHttpOptions;
  #fault: unknown;

  constructor(options: IsomorphicHttpOptions) {
    this.#options = options;
  }

  /** Why a request failed, whatever isomorphic-git makes of it. */
  get fault(): unknown {
    return this.#fault;
  }

  readonly request = async (request: GitHttpRequest): Promise<GitHttpResponse> => {
    try {
      return await this.#answer(request);
    } catch (error) {
      this.#fault = error;
      throw error;
    }
  };

  async #answer({ method, url, headers, body }: GitHttpRequest): Promise<GitHttpResponse> {
    const version = headers?.['Git-Protocol'] === undefined ? 0 : 2;
    if (method !== 'POST') {
      const text = advertised(await this.#advertisement(version));
      return answer(url, 'advertisement', text);
    }
    const sent = Buffer.concat(await gathered(body ?? []));
    const lines = version === 2 ? await this.#references(sent) : await this.#options.fetch(sent);
    return answer(url, 'result', lines.map((line) => (line === '' ? flush : packetLine(line))).join('') + flush);
  }

  async #advertisement(version: 0 | 2): Promise<Advertisement> {
    const { server, advertisement, wanted } = this.#options;
    if (advertisement.version === version) return advertisement;
    const again = await server.advertisement(version, wanted);
    if (again.version !== version) {
      throw new UpstreamFault(
        'UpstreamInvalid',
        `${server.name} offers neither partial clone nor git's protocol before version 2; on a server of your own set uploadpack.allowFilter`,
      );
    }
    readerFor(again, server.name);
    return again;
  }

  async #references(body: Buffer): Promise<string[]> {
    const { server, wanted } = this.#options;
    const stream = new ByteStream(await server.request(body, 2, mostReferences));
    const lines: string[] = [];
    try {
      for await (const line of linesToFlush(stream, server.name, newPace(server.signal))) {
        const name = parseReference(line)?.name;
        if (name !== undefined && wanted.has(name) && lines.length < wanted.size) lines.push(line);
      }
      await stream.fill(1);
    } finally {
      await stream.cancel();
    }
    return lines;
  }
}

async function gathered(pieces: AsyncIterable<Uint8Array> | Iterable<Uint8Array>): Promise<Uint8Array[]> {
  const all: Uint8Array[] = [];
  for await (const piece of pieces) all.push(piece);
  return all;
}

/** Of version 2 the one line that isomorphic-git looks for. */
function advertised({ version, lines }: Advertisement): string {
  const shown = version === 2 ? ['version 2'] : lines;
  return [packetLine('# service=git-upload-pack'), flush, ...shown.map(packetLine), flush].join('');
}

function answer(url: string, kind: 'advertisement' | 'result', text: string): GitHttpResponse {
  async function* once() {
    yield Buffer.from(text);
  }
  return {
    url,
    statusCode: 200,
    statusMessage: 'OK',
    headers: { 'content-type': `application/x-git-upload-pack-${kind}` },
    body: once(),
  };
}
