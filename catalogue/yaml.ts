// YAML of a frontmatter, strictly: one parse, two readings. Bounded in time and size, whatever is written.

import { type Document, isAlias, isMap, isScalar, isSeq, type Node, parseDocument, type YAMLError } from 'yaml';
import { lineAt } from './frontmatter.ts';

/** Every scalar as it was written: `1.10` stays `1.10`. */
export type Text = string | Text[] | Map<string, Text>;

export interface YamlFields {
  /** The YAML 1.2 core reading as JSON, in which `1.10` is 1.1. */
  core: Record<string, unknown>;
  /** The string reading. */
  text: Map<string, Text>;
  /** Line of a field's key, from 1, within the YAML. */
  lines: Map<string, number>;
  /** Fields whose plain text was cut by ` #`, which begins a comment. */
  cut: Set<string>;
  /** Line of the first value that JSON cannot hold, such as `.inf`, and that is null in the core reading. */
  lost: number | undefined;
}

/** `why`: what is wrong and what to write instead, in words of our own. */
export type YamlFault = { line: number; why: string };

export type YamlResult = { ok: true; fields: YamlFields } | ({ ok: false } & YamlFault);

/** More than any frontmatter needs, and few enough that none takes long. */
const caps = {
  lines: 1024,
  indicators: 768,
  quotes: 4096,
  nestedSigns: 16,
  anchors: 64,
  nodes: 10_000,
  characters: 128 * 1024,
  depth: 64,
};

/** Reads a mapping. Aliases count as what they stand for, so that none multiplies. */
export function readYaml(yaml: string): YamlResult {
  if (isTooComplex(yaml)) return { ok: false, line: 1, why: 'it is too complex to be read: write plain fields' };
  let document: Document.Parsed;
  try {
    document = parseDocument(yaml, { prettyErrors: false, uniqueKeys: false, logLevel: 'error', strict: true });
  } catch {
    return { ok: false, line: 1, why: 'it is nested too deeply: write plain fields' };
  }
  const error = document.errors[0];
  if (error !== undefined) return { ok: false, line: lineAt(yaml, error.pos[0]), why: whyOf(error) };
  const root: Node | null = document.contents;
  if (root === null) {
    return { ok: true, fields: { core: {}, text: new Map(), lines: new Map(), cut: new Set(), lost: undefined } };
  }
  if (!isMap(root)) return { ok: false, line: 1, why: 'it has no fields: write them as `name: value`' };
  try {
    const reading = new Conversion('core');
    const core = reading.convert(root, 0) as Record<string, unknown>;
    const text = new Conversion('text').convert(root, 0) as Map<string, Text>;
    const lost = reading.lost === undefined ? undefined : lineAt(yaml, reading.lost);
    return { ok: true, fields: { core, text, ...placesOf(root, yaml), lost } };
  } catch (fault) {
    if (fault instanceof Unreadable) return { ok: false, line: lineAt(yaml, fault.at), why: fault.message };
    throw fault;
  }
}

class Unreadable extends Error {
  readonly at: number;
  constructor(at: number, why: string) {
    super(why);
    this.at = at;
  }
}

/** Turns nodes into values, counting them. */
class Conversion {
  /** Where the first value stands that the core reading cannot hold. */
  lost: number | undefined;
  readonly #reading: 'core' | 'text';
  readonly #anchors = new Map<string, Node>();
  #nodes = 0;
  #characters = 0;
  constructor(reading: 'core' | 'text') {
    this.#reading = reading;
  }

  convert(node: Node | null, depth: number): unknown {
    if (node === null) return this.#reading === 'core' ? null : '';
    const at = node.range?.[0] ?? 0;
    this.#nodes++;
    if (isScalar(node)) this.#characters += node.source?.length ?? 0;
    if (this.#nodes > caps.nodes || this.#characters > caps.characters || depth > caps.depth) {
      throw new Unreadable(at, 'it stands for too much, aliases counted: write plain fields');
    }
    if (isAlias(node)) {
      const target = this.#anchors.get(node.source);
      if (target === undefined) {
        throw new Unreadable(at, 'a value that begins with * names an anchor that is not there: put it in quotes');
      }
      return this.convert(target, depth + 1);
    }
    if ('anchor' in node && node.anchor !== undefined) this.#anchors.set(node.anchor, node);
    if (isScalar(node)) return this.#scalar(node, at);
    if (isSeq(node)) return node.items.map((item) => this.convert(item as Node | null, depth + 1));
    if (isMap(node)) return this.#map(node.items as { key: Node; value: Node | null }[], depth);
    throw new Unreadable(at, 'this is no field: write it as `name: value`');
  }

  #scalar(node: { value: unknown; source?: string }, at: number): unknown {
    if (this.#reading === 'text') return wellFormed(node.source ?? String(node.value ?? ''), at);
    const { value } = node;
    if (typeof value === 'string') return wellFormed(value, at);
    if (value === null || typeof value === 'boolean' || (typeof value === 'number' && Number.isFinite(value))) {
      return value;
    }
    this.lost ??= at;
    return null;
  }

  #map(items: readonly { key: Node; value: Node | null }[], depth: number): unknown {
    const entries = new Map<string, unknown>();
    for (const { key, value } of items) {
      const at = key.range?.[0] ?? 0;
      if (!isScalar(key)) throw new Unreadable(at, 'a name of a field must be plain text');
      const written = this.#reading === 'core' ? String(key.value ?? '') : (key.source ?? String(key.value));
      const name = wellFormed(written, at);
      if (entries.has(name)) throw new Unreadable(at, 'the field stands twice: keep one');
      entries.set(name, this.convert(value, depth + 1));
    }
    return this.#reading === 'core' ? asObject(entries) : entries;
  }
}

/** Half of a pair of surrogates is no character: clients refuse a whole answer for one. */
function wellFormed(text: string, at: number): string {
  if (text.isWellFormed()) return text;
  throw new Unreadable(at, 'an escape such as \\uD800 stands for no character: write the character itself');
}

/** An own property for each entry, `__proto__` among them. */
function asObject(entries: ReadonlyMap<string, unknown>): Record<string, unknown> {
  const object: Record<string, unknown> = {};
  for (const [name, value] of entries) {
    Object.defineProperty(object, name, { value, writable: true, enumerable: true, configurable: true });
  }
  return object;
}

function placesOf(root: Node, yaml: string): Pick<YamlFields, 'lines' | 'cut'> {
  const lines = new Map<string, number>();
  const cut = new Set<string>();
  const items = isMap(root) ? root.items : [];
  let line = 1;
  let counted = 0;
  for (const { key, value } of items) {
    if (!isScalar(key)) continue;
    const name = String(key.value ?? '');
    const at = key.range?.[0] ?? 0;
    line += lineAt(yaml.slice(counted, at), at - counted) - 1;
    counted = at;
    lines.set(name, line);
    const end = isScalar(value) && value.type === 'PLAIN' ? value.range?.[1] : undefined;
    if (end !== undefined && value !== null && /^[ \t]+#/.test(yaml.slice(end, end + 64))) cut.add(name);
  }
  return { lines, cut };
}

function isTooComplex(yaml: string): boolean {
  const count = (pattern: RegExp): number => yaml.match(pattern)?.length ?? 0;
  return (
    count(/\n/g) > caps.lines ||
    count(/[[\]{},!&*\\]|:(?=\s|$)/g) > caps.indicators ||
    count(/["']/g) > caps.quotes ||
    count(/(?<![^\s,[{])\?(?=\s|$)/g) > caps.nestedSigns ||
    count(/-[ \t]+(?=-\s)/g) > caps.nestedSigns ||
    count(/(?<![^\s,[{])&(?=\S)/g) > caps.anchors
  );
}

function whyOf({ code }: YAMLError): string {
  switch (code) {
    case 'BLOCK_AS_IMPLICIT_KEY':
      return 'a value with a colon and a blank in it must stand in quotes';
    case 'BAD_SCALAR_START':
      return 'a value that begins with a special character must stand in quotes';
    case 'TAB_AS_INDENT':
      return 'indent with blanks, not with tabs';
    case 'MISSING_CHAR':
      return 'a quote, bracket or colon is missing';
    case 'BAD_INDENT':
      return 'the line is indented wrongly, or a bracket is not closed';
    default:
      return 'the line is not valid YAML: put the value in quotes';
  }
}
