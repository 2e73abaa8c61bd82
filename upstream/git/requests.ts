// What is asked of a git server in protocol v2 (gitprotocol-v2): ls-refs and fetch.
import { delimiter, flush, packetLine } from './pkt-line.ts';

const command = (name: string, lines: readonly string[]): Buffer =>
  Buffer.from([packetLine(`command=${name}`), delimiter, ...lines.map(packetLine), flush].join(''));

/** @param names full reference names; the server answers with every name that begins like one of them */
export const listReferences = (names: readonly string[]): Buffer =>
  command('ls-refs', ['peel', 'symrefs', ...names.map((name) => `ref-prefix ${name}`)]);

/**
 * A commit and its trees, no content and no history.
 * @param known a commit whose trees are at hand: the answer has only what differs, as deltas against those
 */
export const fetchTrees = (commit: string, known: string | undefined): Buffer =>
  command('fetch', [
    ...(known === undefined ? [] : ['thin-pack']),
    'ofs-delta',
    'no-progress',
    `want ${commit}`,
    'deepen 1',
    ...(known === undefined ? [] : [`shallow ${known}`, `have ${known}`]),
    'filter blob:none',
    'done',
  ]);

export const fetchBlobs = (oids: readonly string[]): Buffer =>
  command('fetch', ['ofs-delta', 'no-progress', ...oids.map((oid) => `want ${oid}`), 'done']);
