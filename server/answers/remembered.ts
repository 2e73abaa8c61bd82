// What is made of a view's artifacts of one kind, made once for it and forgotten with it.
import type { ArtifactKind } from '../../catalogue/source-catalogue.ts';
import type { View } from '../view.ts';

/** @param make makes it, from nothing but the view */
export function rememberedByKind<T>(
  make: (view: View, kind: ArtifactKind) => T,
): (view: View, kind: ArtifactKind) => T {
  const known = new WeakMap<View, Map<ArtifactKind, T>>();
  return (view, kind) => {
    let kinds = known.get(view);
    if (kinds === undefined) {
      kinds = new Map();
      known.set(view, kinds);
    }
    let made = kinds.get(kind);
    if (made === undefined) {
      made = make(view, kind);
      kinds.set(kind, made);
    }
    return made;
  };
}
