// Work on the tree of a source that may move while it is read.
import { MovedMeanwhile } from '../../upstream/fault.ts';
import type { Source, Tree } from './source.ts';

/**
 * Opens the tree, works on it and closes it; where upstream moved meanwhile, once more on the tree as it is then.
 * @throws what opening and the work throw
 */
export async function withSettledTree<Result>(
  source: Pick<Source, 'open'>,
  work: (tree: Tree) => Promise<Result>,
): Promise<Result> {
  const once = async (): Promise<Result> => {
    const tree = await source.open();
    return await work(tree).finally(() => tree.close());
  };
  return await once().catch((error: unknown) => {
    if (error instanceof MovedMeanwhile) return once();
    throw error;
  });
}
