// A remote git repository over HTTP, read as a partial clone: the commit's trees first, then the blobs that are wanted.
import { join } from 'node:path';
import { UpstreamFault } from '../fault.ts';
import { type GuardedClient, type GuardedResponse, redirected } from '../guard/client.ts';
import { treeCaps } from '../limits.ts';
import { newPace } from '../pace.ts';
import { ByteStream } from './byte-stream.ts';
import { acceptServer } from './capabilities.ts';
import { packOf, refused } from './fetch-response.ts';
import { rootTree } from './objects.ts';
import { type PackOptions, type PackSink, readPack } from './pack.ts';
import { packetText, readPacket } from './pkt-line.ts';
import { chooseReference, parseReference, type Reference, type Tip, wantedReference } from './references.ts';
import { fetchBlobs, fetchTrees, listReferences } from './requests.ts';
import type { TreeMemory } from './tree-memory.ts';
import { UnfoldBudget } from './unfold-budget.ts';
import { TreeMissing, type Walked, walk } from './walk.ts';

export interface RepositoryOptions {
  /** From `gitAddress`. */
  url: URL;
  client: GuardedClient;
  /** An Authorization header, for the origin of `url` alone. */
  authorization: string | undefined;
  signal: AbortSignal;
  /** Told bytes on the wire as they arrive. */
  received(bytes: number): void;
  /** A folder that this repository alone writes to. */
  scratch: string;
}

export interface BlobSink {
  whole(oid: string, bytes: Buffer): void | Promise<void>;
  /** @param size bytes */
  large(oid: string, size: number): void;
}

const mebibyte = 2 ** 20;
const caps = {
  advertisement: mebibyte,
  references: 16 * mebibyte,
  /** A pack of trees, packed and unpacked. */
  trees: 64 * mebibyte,
  /** Packs of blobs on the wire, one answer; unpacked, one call. */
  blobs: 4096 * mebibyte,
  wants: 5000,
  /** Blobs that a pack did not bring in a form that can be read in bounded memory, asked for one by one. */
  singles: 64,
};

export class GitRepository {
  readonly #options: RepositoryOptions;
  #base: URL | undefined;
  #packs = 0;

  constructor(options: RepositoryOptions) {
    this.#options = options;
  }

  /**
   * What `ref` means now: one request, two the first time. A commit's full name means itself and is not looked up.
   * @throws UpstreamFault NotFound for a reference that the remote does not have, and whatever the guard finds
   */
  async tip(ref: string | undefined): Promise<Tip> {
    const wanted = wantedReference(ref);
    const base = await this.#connect();
    if (wanted.kind === 'commit') return { commit: wanted.oid, revision: `sha1:${wanted.oid}` };
    const response = await this.#post(base, listReferences(wanted.names), caps.references);
    const tip = chooseReference(wanted.names, await this.#references(response, new Set(wanted.names)));
    if (tip !== undefined) return tip;
    throw new UpstreamFault(
      'NotFound',
      ref === undefined
        ? `the repository at ${this.#name} has no default branch or is empty; name a branch in spec.ref`
        : `the repository at ${this.#name} has no branch or tag named by spec.ref`,
    );
  }

  /**
   * The tree of a commit, without content.
   * @param known trees of an earlier commit, if any are kept: only what differs is transferred then
   * @throws UpstreamFault NotFound for a commit that is not there, LimitExceeded, UpstreamInvalid
   */
  async tree(commit: string, known: TreeMemory | undefined): Promise<Walked & { root: string }> {
    try {
      return await this.#tree(commit, known);
    } catch (error) {
      if (!(error instanceof TreeMissing)) throw error;
    }
    try {
      return await this.#tree(commit, undefined);
    } catch (error) {
      if (!(error instanceof TreeMissing)) throw error;
      throw new UpstreamFault('UpstreamInvalid', `${this.#name} left out folders of the commit; run git fsck there`);
    }
  }

  /**
   * The bytes of blobs, in any order.
   * @param keep bytes; a larger blob is told to `sink.large`
   * @throws UpstreamFault UpstreamInvalid when one does not come, LimitExceeded
   */
  async blobs(oids: readonly string[], keep: number, sink: BlobSink): Promise<void> {
    const budget = new UnfoldBudget(caps.blobs, 'the wanted files, those too large to keep among them,');
    const left = new Set(oids);
    for (let from = 0; from < oids.length; from += caps.wants) {
      await this.#blobs(oids.slice(from, from + caps.wants), left, keep, budget, sink);
    }
    if (left.size <= caps.singles) for (const oid of [...left]) await this.#blobs([oid], left, keep, budget, sink);
    if (left.size > 0) {
      throw new UpstreamFault('UpstreamInvalid', `${this.#name} did not send ${left.size} of the files it lists`);
    }
  }

  /** What messages call the server. */
  get #name(): string {
    const { host } = this.#options.url;
    return this.#base === undefined || this.#base.host === host ? host : redirected(host);
  }

  /** Asks for the server's capabilities once; where that is redirected, the new place is the repository's. */
  async #connect(): Promise<URL> {
    if (this.#base !== undefined) return this.#base;
    const response = await this.#request('GET', this.#options.url, 'info/refs?service=git-upload-pack', {
      maxBytes: caps.advertisement,
    });
    const stream = new ByteStream(response.body);
    try {
      if (response.status === 203) {
        throw new UpstreamFault(
          'AuthenticationFailed',
          `${this.#name} answers with a sign-in page; check spec.secretRef`,
        );
      }
      await acceptServer(stream, response.headers['content-type'], this.#name);
      await stream.fill(1);
    } finally {
      await stream.cancel();
    }
    const suffix = '/info/refs';
    const { pathname } = response.url;
    if (!pathname.endsWith(suffix)) {
      throw new UpstreamFault('UpstreamInvalid', `${this.#name} redirects to what is no git repository`);
    }
    this.#base = new URL(pathname.slice(0, -suffix.length), response.url.origin);
    return this.#base;
  }

  async #references(response: GuardedResponse, names: ReadonlySet<string>): Promise<Reference[]> {
    const found: Reference[] = [];
    const stream = new ByteStream(response.body);
    try {
      for (;;) {
        const packet = await readPacket(stream, this.#name);
        if (packet === 'flush') break;
        if (packet === undefined) {
          throw new UpstreamFault('UpstreamInvalid', `${this.#name} broke off in the middle of its references`);
        }
        if (typeof packet === 'string') continue;
        const line = packetText(packet);
        if (line.startsWith('ERR ')) throw refused(this.#name);
        const reference = parseReference(line);
        if (reference !== undefined && names.has(reference.name)) found.push(reference);
      }
      await stream.fill(1);
    } finally {
      await stream.cancel();
    }
    return found;
  }

  async #tree(commit: string, known: TreeMemory | undefined): Promise<Walked & { root: string }> {
    const trees = new Map<string, Buffer>();
    let root = known?.commit === commit ? known.root : undefined;
    if (root === undefined) {
      let commitBytes: Buffer | undefined;
      await this.#fetch(fetchTrees(commit, known?.commit), caps.trees, {
        absent: () => this.#noSuchCommit(),
        keep: caps.trees,
        budget: new UnfoldBudget(caps.trees, "the repository's folders"),
        base: (oid) => {
          const data = known?.trees.get(oid);
          return data === undefined ? undefined : { type: 'tree', data };
        },
        whole: (oid, { type, data }) => {
          if (type === 'tree') trees.set(oid, data);
          if (oid === commit && type === 'commit') commitBytes = data;
        },
        large: () => {},
      });
      root = commitBytes === undefined ? undefined : rootTree(commitBytes);
    }
    if (root === undefined) throw this.#noSuchCommit();
    const find = (oid: string) => trees.get(oid) ?? known?.trees.get(oid);
    return { root, ...(await walk(root, find, newPace(this.#options.signal))) };
  }

  async #blobs(wants: string[], left: Set<string>, keep: number, budget: UnfoldBudget, sink: BlobSink): Promise<void> {
    await this.#fetch(fetchBlobs(wants), caps.blobs, {
      absent: () =>
        new UpstreamFault('UpstreamInvalid', `${this.#name} does not give out files by name, as partial clone needs`),
      keep,
      budget,
      whole: (oid, { type, data }) => (type === 'blob' && left.delete(oid) ? sink.whole(oid, data) : undefined),
      large: (oid, type, size) => {
        if (type === 'blob' && left.delete(oid)) sink.large(oid, size);
      },
    });
  }

  async #fetch(
    body: Buffer,
    maxBytes: number,
    read: Pick<PackOptions, 'keep' | 'budget' | 'base'> & PackSink & { absent: () => UpstreamFault },
  ): Promise<void> {
    const response = await this.#post(await this.#connect(), body, maxBytes);
    const stream = new ByteStream(response.body);
    try {
      await readPack(
        packOf(stream, this.#name, read.absent),
        {
          ...read,
          name: this.#name,
          maxObjects: treeCaps.entries,
          spillFile: join(this.#options.scratch, `pack-${++this.#packs}`),
          signal: this.#options.signal,
        },
        read,
      );
    } finally {
      await stream.cancel();
    }
  }

  #noSuchCommit(): UpstreamFault {
    return new UpstreamFault('NotFound', `the repository at ${this.#name} has no such commit; check spec.ref`);
  }

  async #post(base: URL, body: Buffer, maxBytes: number): Promise<GuardedResponse> {
    const response = await this.#request('POST', base, 'git-upload-pack', { body, maxBytes });
    if (response.headers['content-type'] !== 'application/x-git-upload-pack-result') {
      response.discard();
      throw new UpstreamFault('UpstreamInvalid', `${this.#name} answered a git request with something else`);
    }
    return response;
  }

  #request(
    method: 'GET' | 'POST',
    base: URL,
    path: string,
    more: { body?: Buffer; maxBytes: number },
  ): Promise<GuardedResponse> {
    const { client, url, authorization, signal, received } = this.#options;
    return client.request({
      method,
      url: new URL(`${base.href}/${path}`),
      name: this.#name,
      headers: {
        'git-protocol': 'version=2',
        ...(method === 'POST' ? { 'content-type': 'application/x-git-upload-pack-request' } : {}),
      },
      credential: authorization === undefined ? undefined : { header: authorization, origin: url.origin },
      signal,
      received,
      ...more,
    });
  }
}
