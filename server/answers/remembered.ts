// What is made of the artifacts of one kind in a view or a snapshot, made once for it and forgotten with it.
import type { ArtifactKind } from '../../catalogue/source-catalogue.ts';

/** @param make makes it, from nothing but the view or snapshot: of a snapshot's views there are many, so theirs is to be small */
export function rememberedByKind<Of extends object, T>(
  make: (of: Of, kind: ArtifactKind) => T,
): (of: Of, kind: ArtifactKind) => T {
  const known = new WeakMap<Of, Map<ArtifactKind, T>>();
  return (of, kind) => {
    let kinds = known.get(of);
    if (kinds === undefined) {
      kinds = new Map();
      known.set(of, kinds);
    }
    let made = kinds.get(kind);
    if (made === undefined) {
      made = make(of, kind);
      kinds.set(kind, made);
    }
    return made;
  };
}
