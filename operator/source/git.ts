// Git repositories as a source: one look at a repository, its trees remembered between looks.
import { isUtf8 } from 'node:buffer';
import { type Problem, problem } from '../../catalogue/problem.ts';
import { UpstreamFault } from '../../upstream/fault.ts';
import { gitAddress, type HttpAddress, type SshAddress } from '../../upstream/git/address.ts';
import { credentialsFrom } from '../../upstream/git/credentials.ts';
import { HttpGitServer } from '../../upstream/git/http-server.ts';
import { openRepository } from '../../upstream/git/open.ts';
import { tipOfCommit, wantedReference } from '../../upstream/git/references.ts';
import type { GitRepository } from '../../upstream/git/repository.ts';
import type { GitServer } from '../../upstream/git/server.ts';
import { SshGitServer } from '../../upstream/git/ssh-server.ts';
import { decodeTreeMemory, encodeTreeMemory } from '../../upstream/git/tree-memory.ts';
import type { Walked } from '../../upstream/git/walk.ts';
import type { GuardedClient } from '../../upstream/guard/client.ts';
import { newPace, type Pace } from '../../upstream/pace.ts';
import { sshCredentialsFrom } from '../../upstream/ssh/credentials.ts';
import { SourceFault } from '../reasons.ts';
import type { LookContext } from './backend.ts';
import type { Source, Tree, TreeEntry, TreeSink } from './source.ts';
import { totalSizeFault } from './total-size.ts';

/** A link's target is a path; what is longer is none that anybody can follow. */
const longestLink = 4096;

/** Distinct links of one tree, and bytes of their targets, which are kept in memory. */
const mostLinks = 50_000;
const mostLinkBytes = 8 * 2 ** 20;

/**
 * @param url `spec.url` with a git scheme
 * @param ref `spec.ref`; undefined for the remote's HEAD
 * @param guard the installation's client; it stays open
 * @throws SourceFault InvalidSpec for the URL, SecretNotFound for keys that are missing; UpstreamFault TLSFailed for `ca.crt`
 */
export async function openGitSource(
  url: string,
  ref: string | undefined,
  context: LookContext,
  guard: GuardedClient,
): Promise<Source> {
  const address = gitAddress(url);
  if (!address.ok) throw new SourceFault('InvalidSpec', address.message);
  const { server, close } =
    address.transport === 'ssh' ? await sshServer(address, context, guard) : httpServer(address, context, guard);
  const wanted = wantedReference(ref);
  let opened: Promise<GitRepository> | undefined;
  const repository = (): Promise<GitRepository> => {
    opened ??= openRepository(ref, server, context).then((repository) => {
      context.gitReader(repository.reader);
      return repository;
    });
    return opened;
  };
  return {
    // A commit's full name means that commit for ever: nobody has to be asked.
    probe: async () =>
      wanted.kind === 'commit' ? tipOfCommit(wanted.oid).revision : (await repository()).tip.revision,
    open: async () => openTree(await repository(), context),
    close: async () => {
      const left = await opened?.catch(() => undefined);
      await left?.close();
      server.close();
      await close();
    },
  };
}

/** A server, and what ends the connections that were made for it alone. */
interface Opened {
  server: GitServer;
  close(): Promise<void>;
}

function httpServer({ url }: HttpAddress, { secret, signal, received }: LookContext, guard: GuardedClient): Opened {
  const credentials = credentialsFrom(secret, url.hostname);
  if (!credentials.ok) throw keysMissing(credentials.missing);
  const own = credentials.ca === undefined ? undefined : guard.withCa(credentials.ca);
  const { authorization } = credentials;
  return {
    server: new HttpGitServer({ url, client: own ?? guard, authorization, signal, received }),
    close: async () => own?.close(),
  };
}

async function sshServer(
  { user, host, port, path }: SshAddress,
  { secret, signal, received }: LookContext,
  guard: GuardedClient,
): Promise<Opened> {
  const credentials = await sshCredentialsFrom(secret);
  if (!credentials.ok) throw keysMissing(credentials.missing);
  const authority = host.includes(':') ? `[${host}]` : host;
  const name = port === 22 ? authority : `${authority}:${port}`;
  const server = new SshGitServer({
    ...{ name, host, port, user, path, credentials, signal, received },
    connect: () => guard.connect(host, port, name, signal),
    idleTimeout: guard.idleTimeout,
  });
  return { server, close: async () => {} };
}

const keysMissing = (missing: string): SourceFault =>
  new SourceFault('SecretNotFound', `the Secret of spec.secretRef lacks ${missing}`);

async function openTree(repository: GitRepository, context: LookContext): Promise<Tree> {
  const { tip } = repository;
  const file = await context.memory.load();
  const known = file === undefined ? undefined : decodeTreeMemory(file);
  const walked = await repository.tree(known);
  const pace = newPace(context.signal);
  const links = await readLinks(repository, walked, known?.links, pace);
  if (known?.commit !== tip.commit || links.size !== known.links.size) {
    const memory = { commit: tip.commit, root: walked.root, trees: walked.trees, links };
    await context.memory.save(encodeTreeMemory(memory));
  }
  const problems: Problem[] = [];
  for (const { reason, path, message } of walked.remarks) {
    await pace();
    problems.push(problem(reason, path, message));
  }
  const entries: TreeEntry[] = walked.files;
  for (const { path, oid } of walked.links) {
    await pace();
    const link = linkTarget(links.get(oid));
    if (link !== undefined) entries.push({ path, id: `sha1:${oid}`, link });
    else problems.push(problem('LinkBroken', path, 'the target of this link is no path; mend or remove the link'));
  }
  let total = 0;
  return {
    revision: tip.revision,
    entries,
    problems,
    read: async (wanted, sink) => {
      total = await readEntries(repository, wanted, sink, context.limits, total);
    },
    close: async () => {},
  };
}

function linkTarget(bytes: Buffer | undefined): string | undefined {
  const isPath = bytes !== undefined && bytes.length > 0 && isUtf8(bytes) && !bytes.includes(0);
  return isPath ? bytes.toString('utf8') : undefined;
}

/** The targets of the tree's links, those known from the last look without asking. */
async function readLinks(
  repository: GitRepository,
  { links: walked }: Walked,
  known: ReadonlyMap<string, Buffer> | undefined,
  pace: Pace,
): Promise<Map<string, Buffer>> {
  const links = new Map<string, Buffer>();
  const unknown = new Set<string>();
  let left = mostLinkBytes;
  for (const { oid } of walked) {
    await pace();
    const target = known?.get(oid);
    if (target === undefined) unknown.add(oid);
    else if (!links.has(oid)) {
      links.set(oid, target);
      left -= target.length;
    }
  }
  if (links.size + unknown.size > mostLinks) {
    throw tooManyLinks(`${mostLinks} links`);
  }
  if (unknown.size > 0) {
    await repository.blobs([...unknown], longestLink, {
      whole: (oid, bytes) => {
        left -= bytes.length;
        if (left < 0) throw tooManyLinks(`${mostLinkBytes} bytes of link targets`);
        links.set(oid, Buffer.from(bytes));
      },
      large: (oid) => void links.set(oid, Buffer.alloc(0)),
    });
  }
  return links;
}

const tooManyLinks = (what: string): UpstreamFault =>
  new UpstreamFault('LimitExceeded', `the tree has more than ${what}, which no field raises`);

/** @returns the bytes read from this tree so far */
async function readEntries(
  repository: GitRepository,
  wanted: readonly TreeEntry[],
  sink: TreeSink,
  limits: LookContext['limits'],
  before: number,
): Promise<number> {
  const byBlob = new Map<string, TreeEntry[]>();
  for (const entry of wanted) {
    const oid = entry.id?.replace(/^sha1:/, '');
    if (oid === undefined) throw new Error(`${entry.path} is no entry of a git tree`);
    const same = byBlob.get(oid);
    if (same === undefined) byBlob.set(oid, [entry]);
    else same.push(entry);
  }
  let total = before;
  await repository.blobs([...byBlob.keys()], limits.fileSize, {
    whole: async (oid, bytes) => {
      for (const entry of byBlob.get(oid) ?? []) {
        total += bytes.length;
        if (total > limits.totalSize) throw totalSizeFault(limits.totalSize);
        await sink.take(entry, bytes);
      }
    },
    large: (oid, size) => {
      for (const entry of byBlob.get(oid) ?? []) sink.tooLarge(entry, size);
    },
  });
  return total;
}
