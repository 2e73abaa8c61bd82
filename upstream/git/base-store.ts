// Objects that later deltas may build on: the latest in memory, the others in a file of the look's own.
import { type FileHandle, open, rm } from 'node:fs/promises';
import type { GitObject, ObjectType } from './objects.ts';

/** Bytes of one write, unless one object has more. */
const blockSize = 256 * 1024;
const inMemory = 8 * 2 ** 20;

interface Spilled {
  type: ObjectType;
  at: number;
  length: number;
}

export class BaseStore {
  readonly #file: string;
  readonly #held = new Map<number, GitObject>();
  readonly #spilled = new Map<number, Spilled>();
  #heldBytes = 0;
  #handle: FileHandle | undefined;
  #end = 0;

  /** @param file a path that this store alone uses; nothing is written before memory is full */
  constructor(file: string) {
    this.#file = file;
  }

  /** @param offset the object's place in its pack */
  put(offset: number, object: GitObject): Promise<void> | undefined {
    this.#held.set(offset, object);
    this.#heldBytes += object.data.length;
    return this.#heldBytes > inMemory ? this.#spill() : undefined;
  }

  async get(offset: number): Promise<GitObject | undefined> {
    const held = this.#held.get(offset);
    if (held !== undefined) {
      this.#held.delete(offset);
      this.#held.set(offset, held);
      return held;
    }
    const spilled = this.#spilled.get(offset);
    if (spilled === undefined || this.#handle === undefined) return undefined;
    const data = Buffer.allocUnsafe(spilled.length);
    for (let read = 0; read < data.length; ) {
      const { bytesRead } = await this.#handle.read(data, read, data.length - read, spilled.at + read);
      if (bytesRead === 0) throw new Error(`${this.#file} is shorter than what was written to it`);
      read += bytesRead;
    }
    const object = { type: spilled.type, data };
    await this.put(offset, object);
    return object;
  }

  async close(): Promise<void> {
    this.#held.clear();
    await this.#handle?.close();
    this.#handle = undefined;
    await rm(this.#file, { force: true });
  }

  /** Writes out the objects used longest ago, until half of the memory is free. */
  async #spill(): Promise<void> {
    this.#handle ??= await open(this.#file, 'wx+', 0o600);
    const block: Buffer[] = [];
    let blockBytes = 0;
    for (const [offset, { type, data }] of this.#held) {
      if (this.#heldBytes <= inMemory / 2) break;
      this.#held.delete(offset);
      this.#heldBytes -= data.length;
      if (this.#spilled.has(offset)) continue;
      this.#spilled.set(offset, { type, at: this.#end + blockBytes, length: data.length });
      block.push(data);
      blockBytes += data.length;
      if (blockBytes > blockSize) {
        await this.#write(block.splice(0), blockBytes);
        blockBytes = 0;
      }
    }
    await this.#write(block, blockBytes);
  }

  /** Appends buffers to the file, small ones in one write. */
  async #write(buffers: readonly Buffer[], bytes: number): Promise<void> {
    const block = buffers.length === 1 ? buffers[0]! : Buffer.concat(buffers, bytes);
    for (let written = 0; written < bytes; ) {
      const { bytesWritten } = await this.#handle!.write(block, written, bytes - written, this.#end + written);
      written += bytesWritten;
    }
    this.#end += bytes;
  }
}
