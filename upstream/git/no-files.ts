// A file system without files for isomorphic-git: it reads a repository's configuration and no more, and keeps nothing.
import type { PromiseFsClient } from 'isomorphic-git';

/** Where the configuration is. Nothing on this machine has that name. */
export const nowhere = '/nowhere';

/** An address that isomorphic-git knows the protocol of: what it sends there goes to the repository's own server. */
export const nowhereOverHttp = 'https://git.invalid';

const configuration = '[remote "origin"]\n\tfetch = +refs/heads/*:refs/remotes/origin/*\n';

const absent = async (path: string): Promise<never> => {
  throw Object.assign(new Error(`there is no ${path}`), { code: 'ENOENT' });
};
const swallowed = async (): Promise<void> => {};

export const noFiles: PromiseFsClient = {
  promises: {
    readFile: async (path: string) => (path === `${nowhere}/config` ? configuration : absent(path)),
    writeFile: swallowed,
    unlink: swallowed,
    readdir: absent,
    mkdir: swallowed,
    rmdir: swallowed,
    stat: absent,
    lstat: absent,
    readlink: absent,
    symlink: swallowed,
  },
};
