// Which commit a `ref` means: full names only, a branch before a tag, forty hex digits as a commit.

/** A line of ls-refs (gitprotocol-v2). */
export interface Reference {
  name: string;
  /** The object it names: a commit, or an annotated tag. */
  oid: string;
  /** What an annotated tag, or a tag of a tag, finally names. */
  peeled?: string;
  /** HEAD's branch. */
  symrefTarget?: string;
}

export type WantedReference = { kind: 'commit'; oid: string } | { kind: 'names'; names: readonly string[] };

/** A commit, and what its state is called: `main@sha1:…`, `sha1:…`. */
export interface Tip {
  /** What the reference names: the commit itself, or an annotated tag of it. */
  object: string;
  commit: string;
  revision: string;
}

/** @param ref `spec.ref`; undefined for the remote's HEAD */
export function wantedReference(ref: string | undefined): WantedReference {
  if (ref === undefined || ref === '' || ref === 'HEAD') return { kind: 'names', names: ['HEAD'] };
  if (/^[0-9a-f]{40}$/i.test(ref)) return { kind: 'commit', oid: ref.toLowerCase() };
  return { kind: 'names', names: ref.startsWith('refs/') ? [ref] : [`refs/heads/${ref}`, `refs/tags/${ref}`] };
}

/** The tip that a commit's full name means. */
export const tipOfCommit = (oid: string): Tip => ({ object: oid, commit: oid, revision: `sha1:${oid}` });

/** @returns undefined for a line that is none */
export function parseReference(line: string): Reference | undefined {
  const [oid, name, ...attributes] = line.split(' ');
  if (oid === undefined || name === undefined || !isOid(oid)) return undefined;
  const reference: Reference = { name, oid };
  for (const attribute of attributes) {
    const [, key, value] = /^(peeled|symref-target):(.+)$/.exec(attribute) ?? [];
    if (key === 'peeled' && isOid(value!)) reference.peeled = value!;
    if (key === 'symref-target') reference.symrefTarget = value!;
  }
  return reference;
}

/** The first of the wanted names that the remote has; undefined where it has none. */
export function chooseReference(names: readonly string[], references: readonly Reference[]): Tip | undefined {
  for (const name of names) {
    const found = references.find((reference) => reference.name === name);
    if (found === undefined) continue;
    const commit = found.peeled ?? found.oid;
    return { object: found.oid, commit, revision: `${shortName(found.symrefTarget ?? name)}@sha1:${commit}` };
  }
  return undefined;
}

const shortName = (name: string): string => name.replace(/^refs\/(heads|tags)\//, '');

const isOid = (text: string): boolean => /^[0-9a-f]{40}$/.test(text);
