// WebDAV folders as a source: listed folder by folder, files read where what the server says of them has moved.
import { hash } from 'node:crypto';
import { type Problem, problem } from '../../catalogue/problem.ts';
import { UpstreamFault } from '../../upstream/fault.ts';
import type { GuardedClient } from '../../upstream/guard/client.ts';
import { newPace } from '../../upstream/pace.ts';
import { webDavAddress } from '../../upstream/webdav/address.ts';
import { Authentication } from '../../upstream/webdav/authentication.ts';
import { webDavCredentials } from '../../upstream/webdav/credentials.ts';
import { WebDavServer } from '../../upstream/webdav/server.ts';
import { isStrong } from '../../upstream/webdav/validator.ts';
import { type Folders, type WalkedFolder, walkFolders } from '../../upstream/webdav/walk.ts';
import { SourceFault } from '../reasons.ts';
import type { LookContext } from './backend.ts';
import { joinPath, printable } from './path.ts';
import type { Source, Tree, TreeEntry } from './source.ts';
import { readTogether } from './together.ts';
import { WantedFiles } from './wanted-files.ts';
import { type FileState, fileStates, idOf, revisionOf } from './webdav/files.ts';
import { decodeMemory, encodeMemory, type WebDavMemory } from './webdav/memory.ts';

/**
 * @param url `spec.url` with a WebDAV scheme
 * @param subdirectory `spec.subdirectory`: nothing else is listed
 * @param guard the installation's client; it stays open
 * @throws SourceFault InvalidSpec for the URL, SecretNotFound for keys that are missing; UpstreamFault TLSFailed for `ca.crt`
 */
export function openWebDavSource(
  url: string,
  subdirectory: string,
  context: LookContext,
  guard: GuardedClient,
): Source {
  const address = webDavAddress(url);
  if (!address.ok) throw new SourceFault('InvalidSpec', address.message);
  const credentials = webDavCredentials(context.secret);
  if (!credentials.ok) {
    throw new SourceFault('SecretNotFound', `the Secret of spec.secretRef lacks ${credentials.missing}`);
  }
  const own = credentials.ca === undefined ? undefined : guard.withCa(credentials.ca);
  const server = new WebDavServer({
    url: address.url,
    client: own ?? guard,
    authentication: new Authentication(address.url, credentials.username, credentials.password),
    received: context.received,
  });
  const look = new WebDavLook(server, joinPath(address.url.href, subdirectory), subdirectory, context);
  return { probe: () => look.probe(), open: () => look.open(), close: async () => own?.close() };
}

interface Looked {
  folders: ReadonlyMap<string, WalkedFolder>;
  files: Map<string, FileState>;
  /** Files that were read while they were racy: only reading tells whether they have changed. */
  doubtful: Set<FileState>;
}

class WebDavLook {
  readonly #server: WebDavServer;
  readonly #base: string;
  readonly #start: string;
  readonly #context: LookContext;
  #looked: Looked | undefined;
  /** What the memory holds is what is known now. */
  #isRemembered = false;

  constructor(server: WebDavServer, base: string, start: string, context: LookContext) {
    this.#server = server;
    this.#base = base;
    this.#start = start;
    this.#context = context;
  }

  /** Transfers listings alone, but for files that were read within two seconds of their last change. */
  async probe(): Promise<string> {
    const { files, folders, doubtful } = await this.#look((known) => known);
    const { limits, signal } = this.#context;
    await readTogether([...doubtful], limits, signal, async (state, stop) => {
      const bytes = await this.#get(state, stop);
      const found = bytes && hash('sha256', bytes);
      if (found === state.hash) doubtful.delete(state);
      this.#learn(state, found);
    });
    await this.#remember();
    return revisionOf(files, folders);
  }

  /**
   * Without a probe before it every folder is listed, and every file is read whose ETag proves nothing: somebody has asked
   * for that, or nothing is known.
   */
  async open(): Promise<Tree> {
    const probed = this.#looked !== undefined;
    const { files, folders, doubtful } = await this.#look(() => new Map());
    const pace = newPace(this.#context.signal);
    const entries: TreeEntry[] = [];
    for (const state of files.values()) {
      await pace();
      const { path, entry } = state;
      const isUnsure =
        doubtful.has(state) || (state.racy && state.hash === undefined) || (!probed && !isStrong(entry.etag));
      entries.push({
        path,
        ...(isUnsure ? {} : { id: idOf(this.#base, state) }),
        ...(entry.size === undefined ? {} : { size: entry.size }),
      });
    }
    const wantedFiles = new WantedFiles(this.#context);
    let revision = await revisionOf(files, folders);
    return {
      get revision() {
        return revision;
      },
      entries,
      hasSubdirectory: true,
      problems: problemsOf(folders),
      read: async (wanted, sink) => {
        await wantedFiles.read(wanted, sink, (entry, signal) => this.#read(files.get(entry.path)!, entry, signal));
        revision = await revisionOf(files, folders);
        await this.#remember();
      },
      close: () => this.#remember(),
    };
  }

  /** @param believe those of the known folders that a server's deep ETags may keep from being listed */
  async #look(believe: (known: Folders) => Folders): Promise<Looked> {
    if (this.#looked !== undefined) return this.#looked;
    const file = await this.#context.memory.load();
    const known = file && (await decodeMemory(this.#base, file));
    const before: Folders = known?.folders ?? new Map();
    const folders = await walkFolders(this.#server, this.#start, before, believe(before), this.#context.signal);
    this.#looked = { folders, ...(await fileStates(folders, known?.files ?? new Map())) };
    this.#isRemembered = await isKnown(known, folders, this.#looked.files);
    return this.#looked;
  }

  /** @throws UpstreamFault UpstreamInvalid for bytes that are others than those the entry's id stands for */
  async #read(state: FileState, entry: TreeEntry, signal: AbortSignal): Promise<Buffer | undefined> {
    const bytes = await this.#get(state, signal);
    if (bytes === undefined) return undefined;
    const found = state.racy || state.hash !== undefined ? hash('sha256', bytes) : undefined;
    if (entry.id !== undefined && state.hash !== undefined && found !== state.hash) {
      throw new UpstreamFault('UpstreamInvalid', `"${printable(state.path)}" changed while it was read`);
    }
    if (found !== undefined) this.#learn(state, found);
    return bytes;
  }

  #get({ path, entry }: FileState, signal: AbortSignal): Promise<Buffer | undefined> {
    return this.#server.read(path, entry, this.#context.limits.fileSize, signal);
  }

  #learn(state: FileState, found: string | undefined): void {
    if (found === state.hash) return;
    this.#isRemembered = false;
    if (found === undefined) delete state.hash;
    else state.hash = found;
  }

  /** What is known from now on, written where it differs from what was. */
  async #remember(): Promise<void> {
    if (this.#looked === undefined || this.#isRemembered) return;
    const { folders, files } = this.#looked;
    await this.#context.memory.save(await encodeMemory(this.#base, { folders, files }));
    this.#isRemembered = true;
  }
}

/** Whether all that is known now was known before. */
async function isKnown(
  known: WebDavMemory | undefined,
  folders: ReadonlyMap<string, WalkedFolder>,
  files: ReadonlyMap<string, FileState>,
): Promise<boolean> {
  if (known?.folders.size !== folders.size || known.files.size !== files.size) return false;
  const pace = newPace();
  for (const [path, { hash: listing }] of folders) {
    await pace();
    if (known.folders.get(path)?.hash !== listing) return false;
  }
  for (const [path, { hash: content, racy }] of files) {
    await pace();
    const before = known.files.get(path);
    if (before?.hash !== content || before?.racy !== racy) return false;
  }
  return true;
}

function problemsOf(folders: ReadonlyMap<string, WalkedFolder>): Problem[] {
  return [...folders].flatMap(([folder, { remarks }]) =>
    remarks.map(({ reason, name, message }) => {
      const path = printable(name === undefined ? folder : joinPath(folder, name));
      return problem(reason, path === '' ? '.' : path, message);
    }),
  );
}
