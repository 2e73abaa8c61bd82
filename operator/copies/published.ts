// What may be copied of a gateway: its index.json, and the files that this one names, by digest.
import { stat } from 'node:fs/promises';
import { join } from 'node:path';
import { digestOf } from '../../catalogue/digest.ts';
import { longestIndex, parseIndex } from '../../catalogue/index-reader.ts';
import { indexPath, segmentIndexPath, segmentPath } from '../../catalogue/layout.ts';
import { readSourceHeader } from '../../catalogue/source-catalogue-reader.ts';
import { CatalogueUnreadable } from '../../catalogue/unreadable.ts';
import { readWhole } from '../../catalogue/whole-file.ts';

export type FileKind = 'catalogue' | 'segment' | 'segment-index';

export interface PublishedGateway {
  /** SHA-256 of the bytes, as an entity tag. */
  etag: string;
  index: Buffer;
  /** Whether it holds digests of tokens. */
  hasTokens: boolean;
  /** Relative to the volume's root, by kind and digest: `segment sha256:…`. */
  files: ReadonlyMap<string, string>;
}

export const fileKey = (kind: FileKind, digest: string): string => `${kind} ${digest}`;

export class Published {
  readonly #root: string;
  /** By path of an index.json. */
  readonly #gateways = new Map<string, { identity: string; content: Promise<PublishedGateway> }>();

  /** @param root absolute path of the volume */
  constructor(root: string) {
    this.#root = root;
  }

  /**
   * What is published now, read anew when another index.json has been put in the place of the one that was read.
   * @returns undefined where there is none that can be read
   */
  async gateway(namespace: string, name: string): Promise<PublishedGateway | undefined> {
    const path = indexPath(namespace, name);
    const identity = await identityOf(join(this.#root, path));
    if (identity === undefined) {
      this.#gateways.delete(path);
      return undefined;
    }
    const known = this.#gateways.get(path);
    const content = known?.identity === identity ? known.content : this.#read(path);
    this.#gateways.set(path, { identity, content });
    try {
      return await content;
    } catch (error) {
      if (this.#gateways.get(path)?.content === content) this.#gateways.delete(path);
      if (error instanceof CatalogueUnreadable) return undefined;
      throw error;
    }
  }

  async #read(path: string): Promise<PublishedGateway> {
    const text = await readWhole(this.#root, path, longestIndex);
    const { gateway, sources, auth } = parseIndex(path, text);
    const files = new Map<string, string>();
    for (const { name, catalogue } of sources) {
      if (catalogue === undefined) continue;
      files.set(fileKey('catalogue', catalogue.digest), catalogue.path);
      const { segments } = await readSourceHeader(this.#root, catalogue.path);
      for (const { digest } of segments) {
        files.set(fileKey('segment', digest), segmentPath(gateway.namespace, name, digest));
        files.set(fileKey('segment-index', digest), segmentIndexPath(gateway.namespace, name, digest));
      }
    }
    const index = Buffer.from(text);
    return { etag: `"${digestOf(index)}"`, index, hasTokens: auth !== undefined, files };
  }
}

async function identityOf(path: string): Promise<string | undefined> {
  try {
    const { ino, mtimeMs, size } = await stat(path);
    return `${ino} ${mtimeMs} ${size}`;
  } catch {
    return undefined;
  }
}
