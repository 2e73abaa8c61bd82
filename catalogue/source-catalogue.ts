// The catalogue of one source at one revision: an immutable file of JSON lines, a header and then one row a line.
// A reader parses it in slices and re-uses the rows whose line it already knows, so a reload costs what changed.
import { z } from 'zod';

/** The format that this version writes. A reader takes this one and the one before. */
export const sourceCatalogueFormat = 1;

/** `sha256:` and 64 lower-case hex digits, over the exact bytes that are served. */
export const digestSchema = z.string().regex(/^sha256:[0-9a-f]{64}$/);

/** A catalogue file: path relative to the volume, digest and size of the whole file. */
export const catalogueRefSchema = z.object({ path: z.string(), digest: digestSchema, size: z.int() });
export type CatalogueRef = z.infer<typeof catalogueRefSchema>;

/** One file of an artifact. `path` is relative to the artifact's folder, raw. `text`: valid UTF-8 that round-trips. */
export const fileRowSchema = z.object({
  path: z.string(),
  digest: digestSchema,
  size: z.int().min(0),
  mediaType: z.string(),
  text: z.boolean(),
});
export type FileRow = z.infer<typeof fileRowSchema>;

/** The kinds of artifact. A format-1 file may hold any of them; a reader skips the rows of a kind it does not know. */
export type ArtifactKind = 'skill' | 'prompt' | 'rule' | 'profile';

/** How a prompt's text takes arguments: mcp-school's `{{ name }}`, Claude's `$ARGUMENTS` and `$1`, Copilot's `${input:name}`. */
export const promptDialectSchema = z.enum(['placeholders', 'claude', 'copilot']);
export type PromptDialect = z.infer<typeof promptDialectSchema>;

/** An argument of a prompt, in the order in which clients are shown them. */
export const promptArgumentSchema = z.object({
  name: z.string(),
  description: z.string().optional(),
  required: z.boolean(),
  /** What stands for it when it is left out or blank; without one, nothing does. Never with `required`. */
  default: z.string().optional(),
});
export type PromptArgument = z.infer<typeof promptArgumentSchema>;

/**
 * One version of one artifact. The key is (kind, address, version): where several rows share an address they stand together,
 * the first one, the newest, is what that address serves, and the others follow from new to old. `address` is relative to the library, and to its kind there:
 * - a skill's `loki`, or `<source>--<folder>/loki` when it moved, is read at `skill://<library>/<address>`;
 * - a rule's or profile's likewise below `skill://<library>/_rules/` or `_profiles/`;
 * - a prompt's `<stem>`, or `<source>--<folder>_<stem>` when it moved, is called `<library>_<address>`.
 */
export const artifactRowSchema = z.object({
  row: z.literal('artifact'),
  kind: z.string(),
  address: z.string(),
  name: z.string(),
  version: z.string(),
  /** The folder between a skill root and the skill, when it is a real group. */
  group: z.string().optional(),
  /**
   * Path of the artifact's folder below `subdirectory`, as addresses are; `` for the root. Of a prompt, rule or profile
   * that is one file in a folder of many: that file's path without its extensions.
   */
  folder: z.string(),
  /** Where each version has a folder of its own: the artifact's, in which those stand, as `folder`. */
  versionsIn: z.string().optional(),
  /** What people read instead of the name, where the author gave one. */
  title: z.string().optional(),
  /** Whitespace collapsed; empty when there is none. */
  description: z.string(),
  /** Frontmatter tags: for search and openkata's `tag`, never for scope. */
  tags: z.array(z.string()),
  /** The YAML 1.2 core reading of the frontmatter, as it goes over the wire; absent where there is none. */
  frontmatter: z.record(z.string(), z.unknown()).optional(),
  /** False for what `skills/list` and the discovery indexes must leave out. */
  advertised: z.boolean(),
  /** Of prompts alone. The text that is rendered is what stands behind the main file's frontmatter. */
  prompt: z.object({ dialect: promptDialectSchema, arguments: z.array(promptArgumentSchema) }).optional(),
  /** Path of the main file within `files`: `SKILL.md`, `RULE.md`, `review.prompt.md`. */
  main: z.string(),
  /** Every file, the main one among them, sorted by code point of `path`. */
  files: z.array(fileRowSchema),
});
export type ArtifactRow = z.infer<typeof artifactRowSchema>;

/** No line of a catalogue file names more files than this, so that no line takes long to parse. */
export const filesPerLine = 256;

/** A line before an artifact's, with the first of its files. Only lines are cut so: in memory an artifact has them all. */
export const firstFilesRowSchema = z.object({ row: z.literal('files'), files: z.array(fileRowSchema) });
export type FirstFilesRow = z.infer<typeof firstFilesRowSchema>;

/** One pack file. `path` is its address below the library and its path in the source, below `subdirectory`. */
export const packFileRowSchema = fileRowSchema.extend({ row: z.literal('file') });
export type PackFileRow = z.infer<typeof packFileRowSchema>;

export const problemRowSchema = z.object({
  row: z.literal('problem'),
  path: z.string(),
  line: z.int().optional(),
  severity: z.enum(['error', 'warning', 'info']),
  reason: z.string(),
  message: z.string(),
});
export type ProblemRow = z.infer<typeof problemRowSchema>;

export const countsSchema = z.object({
  skills: z.int(),
  prompts: z.int(),
  rules: z.int(),
  profiles: z.int(),
  /** Pack files. */
  files: z.int(),
  /** Artifacts that were there: served + duplicates + rejected. */
  discovered: z.int(),
  duplicates: z.int(),
  rejected: z.int(),
  problems: z.int(),
});
export type Counts = z.infer<typeof countsSchema>;

/** A segment: blobs one after the other, found through its `.index` file. Paths are relative to the volume. */
export const segmentRefSchema = z.object({ digest: digestSchema, size: z.int(), blobs: z.int() });
export type SegmentRef = z.infer<typeof segmentRefSchema>;

export const sourceHeaderSchema = z.object({
  row: z.literal('header'),
  format: z.int(),
  source: z.object({ namespace: z.string(), name: z.string() }),
  revision: z.string(),
  counts: countsSchema,
  /** Number of distinct files, and the bytes of them all. */
  files: z.int(),
  size: z.int(),
  segments: z.array(segmentRefSchema),
});
export type SourceHeader = z.infer<typeof sourceHeaderSchema>;

/** A source's catalogue in memory: what a harvest gives and what the file holds. */
export interface SourceCatalogue {
  header: SourceHeader;
  artifacts: ArtifactRow[];
  files: PackFileRow[];
  problems: ProblemRow[];
}
