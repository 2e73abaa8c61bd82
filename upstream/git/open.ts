// Opens a remote git repository at what a ref means now, by whichever reader its server allows.
import { UpstreamFault } from '../fault.ts';
import { readerFor } from './advertisement.ts';
import { openPartialClone } from './partial-clone.ts';
import { wantedReference } from './references.ts';
import type { GitRepository, ReadingOptions } from './repository.ts';
import type { GitServer } from './server.ts';

/**
 * Asks the server what it can do and what `ref` means: one or two requests with a partial clone.
 * @param ref `spec.ref`; undefined for the remote's HEAD
 * @throws UpstreamFault NotFound for a reference that the remote does not have, and whatever the server is found to be
 */
export async function openRepository(
  ref: string | undefined,
  server: GitServer,
  options: ReadingOptions,
): Promise<GitRepository> {
  const wanted = wantedReference(ref);
  const advertisement = await server.advertisement(2, new Set(wanted.kind === 'names' ? wanted.names : []));
  const repository =
    readerFor(advertisement, server.name) === 'partial-clone'
      ? await openPartialClone(server, wanted, options.scratch)
      : await (await import('./isomorphic.ts')).openIsomorphic(server, wanted, advertisement, options);
  if (repository !== undefined) return repository;
  throw new UpstreamFault(
    'NotFound',
    ref === undefined
      ? `the repository at ${server.name} has no default branch or is empty; name a branch in spec.ref`
      : `the repository at ${server.name} has no branch or tag named by spec.ref`,
  );
}
