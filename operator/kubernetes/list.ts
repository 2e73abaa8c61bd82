// Lists a collection whole, page by page, trimming objects as they arrive.
import type { KubernetesObject } from './cluster.ts';
import type { Connection } from './connection.ts';
import { AnswerTooLarge, KubernetesError } from './kubernetes-error.ts';
import { acceptOf, collectionPath, selectionOf, trim, type WatchedResource } from './watched-resource.ts';

/** Objects to a page, as Kubernetes' own clients ask for. */
const pageLimit = 500;
/** What a page may weigh, in bytes; with larger objects the pages get fewer of them. */
const mostPageBytes = 16 * 1024 * 1024;
/** Objects that are trimmed before others get a turn. */
const turn = 100;

export interface Listed {
  objects: KubernetesObject[];
  /** Of the list, not of an object: where a watch goes on. */
  resourceVersion: string;
}

/**
 * The collection as it is now. All or nothing: an error on any page, an expired continue token (`gone`) too, gives no list.
 * @throws KubernetesError
 */
export async function listAll(
  connection: Connection,
  resource: WatchedResource,
  namespace: string,
  signal: AbortSignal,
): Promise<Listed> {
  const path = collectionPath(resource, namespace);
  const objects: KubernetesObject[] = [];
  let limit = pageLimit;
  let token = '';
  for (;;) {
    const query = { ...selectionOf(resource), limit: String(limit), ...(token === '' ? {} : { continue: token }) };
    const options = { accept: acceptOf(resource, 'list'), mostBytes: mostPageBytes, signal };
    let page: Page;
    try {
      page = pageOf(await connection.getJson(path, query, options), path);
    } catch (error) {
      if (!(error instanceof AnswerTooLarge) || limit === 1) throw error;
      limit = Math.max(1, Math.floor(limit / 4));
      continue;
    }
    for (const [at, item] of page.items.entries()) {
      if (at % turn === turn - 1) await new Promise(setImmediate);
      objects.push(trimmed(resource, item, path));
    }
    if (page.continue === '') return { objects, resourceVersion: page.resourceVersion };
    if (page.continue === token) throw new KubernetesError('server', `GET ${path}: the list does not advance`);
    token = page.continue;
  }
}

interface Page {
  items: unknown[];
  resourceVersion: string;
  continue: string;
}

function pageOf(answer: unknown, path: string): Page {
  const list = answer as { items?: unknown; metadata?: { resourceVersion?: unknown; continue?: unknown } } | null;
  const resourceVersion = list?.metadata?.resourceVersion;
  if (typeof resourceVersion !== 'string' || resourceVersion === '' || !Array.isArray(list?.items ?? [])) {
    throw new KubernetesError('server', `GET ${path}: the answer is not a Kubernetes list`);
  }
  const token = list?.metadata?.continue;
  return {
    items: (list?.items ?? []) as unknown[],
    resourceVersion,
    continue: typeof token === 'string' ? token : '',
  };
}

function trimmed(resource: WatchedResource, item: unknown, path: string): KubernetesObject {
  try {
    return trim(resource, item);
  } catch (cause) {
    throw new KubernetesError('server', `GET ${path}: the list holds something that is no Kubernetes object`, {
      cause,
    });
  }
}
