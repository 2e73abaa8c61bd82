// Tells a running operator at which of its next writes its disk gets a fault; strike.ts in the operator does it.
import { randomUUID } from 'node:crypto';
import { existsSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import type { Fault } from './faulty-disk.ts';

export interface Order {
  /** Writes are counted anew for each order. */
  id: string;
  fault: Fault;
  /** 1 for the very next write. */
  at: number;
}

export const orderPath = (folder: string): string => join(folder, 'order.json');
export const struckPath = (folder: string): string => join(folder, 'struck.json');

/** The order that stands, undefined where there is none. */
export function orderIn(folder: string): Order | undefined {
  try {
    return JSON.parse(readFileSync(orderPath(folder), 'utf8')) as Order;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw error;
  }
}

export class Strikes {
  readonly #folder: string;

  /** @param folder the disk's */
  constructor(folder: string) {
    this.#folder = folder;
  }

  /** What an operator must be started with. */
  get env(): NodeJS.ProcessEnv {
    const strike = pathToFileURL(join(import.meta.dirname, 'strike.ts')).href;
    return { CHAOS_DISK: this.#folder, NODE_OPTIONS: `--import=${strike}` };
  }

  /** @param at 1 for the very next write */
  order(fault: Fault, at: number): void {
    rmSync(struckPath(this.#folder), { force: true });
    const draft = `${orderPath(this.#folder)}.tmp`;
    writeFileSync(draft, JSON.stringify({ id: randomUUID(), fault, at } satisfies Order));
    renameSync(draft, orderPath(this.#folder));
  }

  get struck(): boolean {
    return existsSync(struckPath(this.#folder));
  }

  /** @returns false where the disk was struck before */
  withdraw(): boolean {
    rmSync(orderPath(this.#folder), { force: true });
    return !this.struck;
  }
}
