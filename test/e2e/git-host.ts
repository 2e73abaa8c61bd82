// A git server that pods know as a Service: git's own http-backend, listening on the node.
import assert from 'node:assert/strict';
import { mkdtemp } from 'node:fs/promises';
import { join } from 'node:path';
import { GitFixture } from '../fixtures/git-repository.ts';
import { startGitServer } from '../fixtures/git-server.ts';
import { node, nodeService } from './pods.ts';

export class GitHost implements AsyncDisposable {
  readonly #repository: GitFixture;
  readonly #close: () => Promise<void>;
  #commit: string | undefined;
  #files: Record<string, string> = {};
  /** For `spec.url`. */
  readonly url: string;
  /** What was asked of it, `ls-refs` and `fetch`, since the list was emptied. */
  readonly commands: string[];

  private constructor(url: string, repository: GitFixture, commands: string[], close: () => Promise<void>) {
    this.url = url;
    this.commands = commands;
    this.#repository = repository;
    this.#close = close;
  }

  /** A Service `git` in the namespace, with one repository. */
  static async start(namespace: string): Promise<GitHost> {
    const root = await mkdtemp(join(node.folder, 'git-'));
    const repository = await GitFixture.create(join(root, 'handbook.git'));
    const commands: string[] = [];
    const server = await startGitServer({
      root,
      host: node.address,
      behaviour: (request) => {
        request.on('data', (chunk: Buffer) => {
          const command = /command=([a-z-]+)/.exec(chunk.toString('latin1'))?.[1];
          if (command !== undefined) commands.push(command);
        });
        return false;
      },
    });
    const name = await nodeService(namespace, 'git', Number(new URL(server.origin).port));
    const url = `git+http://${name}/handbook.git`;
    return new GitHost(url, repository, commands, () => server.close());
  }

  /** Commits a skill to main. @returns when it was there to be fetched, in milliseconds since 1970 */
  async push(skill: string, body: string): Promise<number> {
    this.#files[`skills/${skill}/SKILL.md`] = `---\nname: ${skill}\ndescription: Of ${skill}.\n---\n${body}\n`;
    this.#commit = await this.#repository.commitFiles(
      this.#files,
      this.#commit === undefined ? {} : { parent: this.#commit },
    );
    return Date.now();
  }

  /** Fails where something was fetched since the list was emptied. */
  assertNothingFetched(): void {
    assert.deepEqual(
      this.commands.filter((command) => command !== 'ls-refs'),
      [],
    );
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.#close();
  }
}
