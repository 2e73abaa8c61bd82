// A process of the benchmark, from its parent's side: started, asked questions one at a time, ended.
import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import type { Answer } from './answering.ts';

export interface ChildOptions {
  args?: readonly string[];
  /** Options for Node itself. */
  nodeOptions?: readonly string[];
  /** Told each line of standard error, which is passed on otherwise. */
  errorLine?: (line: string) => void;
}

export class Child implements AsyncDisposable {
  readonly #process: ChildProcess;
  readonly #name: string;

  /** @param module from this folder */
  constructor(module: string, { args = [], nodeOptions = [], errorLine }: ChildOptions = {}) {
    this.#name = module;
    this.#process = fork(join(import.meta.dirname, module), args, {
      execArgv: [...nodeOptions],
      stdio: ['ignore', 'ignore', errorLine === undefined ? 'inherit' : 'pipe', 'ipc'],
      serialization: 'advanced',
    });
    let held = '';
    this.#process.stderr?.setEncoding('utf8').on('data', (text: string) => {
      const lines = (held + text).split('\n');
      held = lines.pop() ?? '';
      for (const line of lines) errorLine?.(line);
    });
  }

  /**
   * The answer to a question.
   * @throws Error when the child says that it failed, or ends without an answer
   */
  async ask<Reply>(question: unknown): Promise<Reply> {
    const stop = new AbortController();
    const { signal } = stop;
    try {
      const answered = once(this.#process, 'message', { signal }) as Promise<[Answer]>;
      this.#process.send(question as object);
      const [answer] = await Promise.race([answered, this.failed(signal)]);
      if ('failure' in answer) throw new Error(`${this.#name}: ${answer.failure}`);
      return answer.value as Reply;
    } finally {
      stop.abort();
    }
  }

  /** @throws Error when it ends by itself, or the signal aborts; never resolves */
  async failed(signal: AbortSignal): Promise<never> {
    await once(this.#process, 'exit', { signal });
    throw new Error(`${this.#name} ended early`);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (this.#process.exitCode !== null || this.#process.signalCode !== null) return;
    const exit = once(this.#process, 'exit');
    this.#process.kill('SIGKILL');
    await exit;
  }
}
