// One repository's server, whatever carries git's smart protocol to it, and what is said of one that does not keep to it.
import { UpstreamFault } from '../fault.ts';
import type { Advertisement } from './advertisement.ts';

export interface GitServer {
  /** What messages call the server. */
  readonly name: string;
  readonly signal: AbortSignal;
  /**
   * What the server says of itself, and of the references that are wanted where it tells those at once.
   * @param version of git's protocol that is asked for; the server may know only 0
   * @throws UpstreamFault
   */
  advertisement(version: 0 | 2, wanted: ReadonlySet<string>): Promise<Advertisement>;
  /**
   * One request of the smart protocol.
   * @param maxBytes that the answer may have
   * @returns the answer, to be read to its end or given up
   * @throws UpstreamFault, now and while it is read
   */
  request(body: Buffer, version: 0 | 2, maxBytes: number): Promise<AsyncIterable<Buffer>>;
  /** Ends what is still open. Safe to call twice. */
  close(): void;
}

/** Bytes of an advertisement. */
export const mostAdvertised = 16 * 2 ** 20;

export const noSuchCommit = (name: string): UpstreamFault =>
  new UpstreamFault('NotFound', `the repository at ${name} has no such commit; check spec.ref`);

export const foldersMissing = (name: string): UpstreamFault =>
  new UpstreamFault('UpstreamInvalid', `${name} left out folders of the commit; run git fsck there`);

export const filesMissing = (name: string, files: number): UpstreamFault =>
  new UpstreamFault('UpstreamInvalid', `${name} did not send ${files} of the files it lists`);
