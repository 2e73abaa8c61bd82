// The addresses of pages in one request's scope: what is linked to is seen there as well.
import { encodePath } from '../../catalogue/address.ts';
import type { ArtifactRow } from '../../catalogue/source-catalogue.ts';
import { queryText } from '../scope.ts';
import type { Artifact } from '../snapshot/snapshot.ts';
import type { View } from '../view.ts';
import { pathOf } from './places.ts';

export class Links {
  readonly #view: View;
  /** What the request itself narrows to. */
  readonly scope: URLSearchParams;

  constructor(view: View, scope: URLSearchParams) {
    this.#view = view;
    this.scope = scope;
  }

  /** @param parameters besides those of the scope, or in their place; an empty one is left out */
  to(path: string, parameters: Readonly<Record<string, string>> = {}): string {
    const query = new URLSearchParams(this.scope);
    for (const [name, value] of Object.entries(parameters)) {
      if (value === '') query.delete(name);
      else query.set(name, value);
    }
    return path + queryText(query);
  }

  /** The page of an artifact; of one of its versions where that is not the newest. */
  artifact(artifact: Artifact, row?: ArtifactRow, parameters?: Readonly<Record<string, string>>): string {
    return this.to(pathOf(this.#view, artifact, row), parameters);
  }

  /** @param path of one of the version's files */
  raw(artifact: Artifact, row: ArtifactRow, path: string): string {
    const { before, behind } = this.aroundRaw(artifact, row);
    return before + encodePath(path) + behind;
  }

  /** What stands before and behind the path of one of the version's files. */
  aroundRaw(artifact: Artifact, row: ArtifactRow): { before: string; behind: string } {
    return { before: `${pathOf(this.#view, artifact, row)}/raw/`, behind: queryText(this.scope) };
  }

  archive(artifact: Artifact, row: ArtifactRow): string {
    const version = row === artifact.row ? '' : `/${encodeURIComponent(row.version)}`;
    return this.to(`${pathOf(this.#view, artifact)}/archive${version}`);
  }
}
