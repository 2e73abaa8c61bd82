// Unpacked objects by their place in their pack: the latest in memory, the others in a file of the look's own.
import { type FileHandle, open, rm } from 'node:fs/promises';
import type { UpstreamFault } from '../fault.ts';
import type { DeltaBase } from './delta.ts';
import type { GitObject, ObjectType } from './objects.ts';

/** Bytes of one write, unless one object has more. */
const blockSize = 256 * 1024;
const inMemory = 8 * 2 ** 20;

interface InFile {
  type: ObjectType;
  at: number;
  length: number;
}

export interface StoreBound {
  bytes: number;
  /** The fault of what has more. */
  exceeded(): UpstreamFault;
}

export class UnpackedStore {
  readonly #file: string;
  readonly #bound: StoreBound | undefined;
  readonly #held = new Map<number, GitObject>();
  readonly #spilled = new Map<number, InFile>();
  readonly #large = new Map<number, InFile>();
  #heldBytes = 0;
  #handle: FileHandle | undefined;
  #end = 0;

  /**
   * @param file a path that this store alone uses; nothing is written before memory is full
   * @param bound of the file's bytes, where nothing else bounds what is unpacked
   */
  constructor(file: string, bound?: StoreBound) {
    this.#file = file;
    this.#bound = bound;
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
    if (spilled === undefined) return undefined;
    const object = { type: spilled.type, data: await this.#read(spilled.at, spilled.length) };
    await this.put(offset, object);
    return object;
  }

  /**
   * Makes room in the file for an object that is too large to be held whole.
   * @returns writes its next bytes
   */
  async large(offset: number, type: ObjectType, length: number): Promise<(bytes: Buffer) => Promise<void>> {
    this.#handle ??= await this.#open();
    let at = this.#reserve(length);
    this.#large.set(offset, { type, at, length });
    return async (bytes) => {
      await this.#write(bytes, at);
      at += bytes.length;
    };
  }

  /** An object that `large` has made room for, to be read piece by piece. */
  largeBase(offset: number): DeltaBase | undefined {
    const large = this.#large.get(offset);
    if (large === undefined) return undefined;
    const { type, at, length } = large;
    let window: Buffer = Buffer.alloc(0);
    let from = 0;
    return {
      type,
      size: length,
      read: async (start, bytes) => {
        if (start < from || start + bytes > from + window.length) {
          from = start;
          window = await this.#read(at + start, Math.min(Math.max(bytes, blockSize), length - start));
        }
        return window.subarray(start - from, start - from + bytes);
      },
    };
  }

  async close(): Promise<void> {
    this.#held.clear();
    await this.#handle?.close();
    this.#handle = undefined;
    await rm(this.#file, { force: true });
  }

  #open(): Promise<FileHandle> {
    return open(this.#file, 'wx+', 0o600);
  }

  /** Writes out the objects used longest ago, until half of the memory is free. */
  async #spill(): Promise<void> {
    this.#handle ??= await this.#open();
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
        await this.#append(block.splice(0), blockBytes);
        blockBytes = 0;
      }
    }
    await this.#append(block, blockBytes);
  }

  /** Appends buffers to the file, small ones in one write. */
  async #append(buffers: readonly Buffer[], bytes: number): Promise<void> {
    await this.#write(buffers.length === 1 ? buffers[0]! : Buffer.concat(buffers, bytes), this.#reserve(bytes));
  }

  /** @returns where the next bytes go */
  #reserve(bytes: number): number {
    const at = this.#end;
    this.#end += bytes;
    if (this.#bound !== undefined && this.#end > this.#bound.bytes) throw this.#bound.exceeded();
    return at;
  }

  async #write(block: Buffer, at: number): Promise<void> {
    for (let written = 0; written < block.length; ) {
      const { bytesWritten } = await this.#handle!.write(block, written, block.length - written, at + written);
      written += bytesWritten;
    }
  }

  async #read(at: number, length: number): Promise<Buffer> {
    const data = Buffer.allocUnsafe(length);
    for (let read = 0; read < length; ) {
      const { bytesRead } = await this.#handle!.read(data, read, length - read, at + read);
      if (bytesRead === 0) throw new Error(`${this.#file} is shorter than what was written to it`);
      read += bytesRead;
    }
    return data;
  }
}
