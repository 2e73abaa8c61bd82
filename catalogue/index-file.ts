// index.json, the door of a gateway: the settings a server needs and the catalogue files it serves. Written last.
import { z } from 'zod';
import { digestOf } from './digest.ts';
import { catalogueRefSchema, countsSchema, digestSchema } from './source-catalogue.ts';

/** The format that this version writes. A server reads this one and the one before, and refuses a newer one. */
export const indexFormat = 2;

/** A scope: what may be seen. Both given: both must hold; `tags` matches any of them. */
export const scopeSchema = z.object({ library: z.string().optional(), tags: z.array(z.string()).optional() });
export type ScopeSetting = z.infer<typeof scopeSchema>;

export const librarySettingSchema = z.object({
  name: z.string(),
  title: z.string().optional(),
  description: z.string().optional(),
  tags: z.array(z.string()).default([]),
});
export type LibrarySetting = z.infer<typeof librarySettingSchema>;

/**
 * Who may use the gateway. Servers of format 1 know nothing of it and would let everybody in, hence format 2.
 * Left out: everybody who reaches it.
 */
export const authSettingSchema = z.object({
  /** Each client with the digest of its bearer token's UTF-8 bytes. None: nobody gets in. */
  tokens: z.array(z.object({ client: z.string(), digest: digestSchema })),
  /** Ceilings by client; one without a row has the gateway's alone. */
  scopes: z.array(scopeSchema.extend({ client: z.string() })),
});
export type AuthSetting = z.infer<typeof authSettingSchema>;

/** Who may ask for a look at the sources now: whoever shows a token, or everybody who reaches the gateway. */
export const reindexSettingSchema = z.enum(['Token', 'Anyone']);
export type ReindexSetting = z.infer<typeof reindexSettingSchema>;

/** A WebDAV folder that the servers themselves look at when a file is read. Its Secret is mounted, never in here. */
export const liveSettingSchema = z.object({
  /** `spec.url`, which carries no credentials. */
  url: z.string(),
  /** Path of the harvested folder below it; addresses are relative to it. */
  subdirectory: z.string(),
  /** Bytes of one file: a larger one is not taken over. */
  fileSize: z.int(),
});
export type LiveSetting = z.infer<typeof liveSettingSchema>;

/** pending: never fetched. failed: nothing to serve. stale: served from the last good harvest after a failure. */
export const sourceStateSchema = z.enum(['ok', 'stale', 'failed', 'pending']);
export type SourceState = z.infer<typeof sourceStateSchema>;

/** An address that this gateway gives to something other than its own catalogue says, or to nothing. */
export const moveSchema = z.object({
  kind: z.string(),
  /** The address in the source's catalogue, relative to the library. */
  from: z.string(),
  /** The address in this gateway, relative to the library; absent when it is rejected. */
  to: z.string().optional(),
});
export type Move = z.infer<typeof moveSchema>;

export const indexSourceSchema = z.object({
  name: z.string(),
  state: sourceStateSchema,
  /** Why the state is not ok: the reason of the SkillSource's Ready condition, whose message may name a server. */
  reason: z.string().optional(),
  library: z.string(),
  /** The tags of the custom resource, for scope. */
  tags: z.array(z.string()),
  refreshSeconds: z.int().optional(),
  revision: z.string().optional(),
  /** When the content last changed, RFC 3339. */
  built: z.string().optional(),
  counts: countsSchema.optional(),
  catalogue: catalogueRefSchema.optional(),
  live: liveSettingSchema.optional(),
  moves: z.array(moveSchema).default([]),
});
export type IndexSource = z.infer<typeof indexSourceSchema>;

export const indexSchema = z.object({
  format: z.int(),
  gateway: z.object({ namespace: z.string(), name: z.string() }),
  /** Grows by one with every index.json of this gateway. */
  generation: z.int().min(1),
  /** When this index.json was written, RFC 3339. */
  published: z.string(),
  /** SHA-256 over everything here but generation and published. */
  digest: digestSchema,
  instructions: z.string().optional(),
  scope: scopeSchema,
  auth: authSettingSchema.optional(),
  /** Origins of browsers' pages, besides the gateway's own: `https://claude.ai`. */
  allowedOrigins: z.array(z.string()).optional(),
  /** Names by which the gateway is reached from outside: its own, so pages of theirs may use it. */
  hosts: z.array(z.string()).optional(),
  /** Left out: Token. */
  reindex: reindexSettingSchema.optional(),
  libraries: z.array(librarySettingSchema),
  /** In the order of their right to an address: creationTimestamp, then name. */
  sources: z.array(indexSourceSchema),
});
export type Index = z.infer<typeof indexSchema>;

/** What a gateway's reconciler decides; the rest of index.json is the publication's. */
export type IndexContent = Omit<Index, 'format' | 'gateway' | 'generation' | 'published' | 'digest'>;

/**
 * `sha256:<hex>` over everything in an index but generation, published and digest, in the order its keys have: fields
 * that this version does not know count, so that a reader of the same format can still check them.
 */
export function indexDigest(index: object): string {
  const {
    generation: _generation,
    published: _published,
    digest: _digest,
    ...content
  } = index as Record<string, unknown>;
  return digestOf(JSON.stringify(content));
}
