// Secrets that are planted, and the search for them, in every form in which something may have written them.
import { randomBytes } from 'node:crypto';
import { gunzipSync } from 'node:zlib';

/** A text that is searched, and where it is from. */
export interface Place {
  where: string;
  text: string | Buffer;
  /** Canaries that may stand here, since whoever reads it has just said them himself. */
  except?: readonly string[];
}

/** What a value looks like in one text or another. */
interface Forms {
  /** Whatever its case. */
  folded: readonly Form[];
  exact: readonly Form[];
}

interface Form {
  name: string;
  text: string;
}

interface Text {
  plain: string;
  folded: string;
  /** One character a byte. */
  bytes: string;
}

const beginningLength = 6;

export class Canaries {
  /** By how they begin: where no such beginning stands none of them does, and most places have none. */
  readonly #planted = new Map<string, { beginning: Forms; values: Map<string, { as: string; forms: Forms }> }>();

  /** @param as where it goes, in words @param value one that is there already; a new one where nothing is said */
  plant(as: string, value = `canary${randomBytes(12).toString('hex')}`): string {
    if (value.length < 8) throw new Error(`${as}: too short to be told from other words`);
    const begins = [...value].slice(0, beginningLength).join('');
    const group = this.#planted.get(begins) ?? { beginning: formsOf(begins), values: new Map() };
    this.#planted.set(begins, group);
    if (!group.values.has(value)) group.values.set(value, { as, forms: formsOf(value) });
    return value;
  }

  get size(): number {
    return [...this.#planted.values()].reduce((sum, { values }) => sum + values.size, 0);
  }

  /** @returns a line for each canary that stands there: what it was planted as, and in which form */
  found({ where, text, except = [] }: Place): string[] {
    const searched = unpacked(text);
    const lines: string[] = [];
    for (const { beginning, values } of this.#planted.values()) {
      if (formIn(searched, beginning) === undefined) continue;
      for (const [value, { as, forms }] of values) {
        const form = except.includes(value) ? undefined : formIn(searched, forms);
        if (form !== undefined) lines.push(`${where}: ${as}, ${form.name}`);
      }
    }
    return lines;
  }
}

const formIn = ({ plain, folded, bytes }: Text, forms: Forms): Form | undefined =>
  forms.folded.find(({ text }) => folded.includes(text)) ??
  forms.exact.find(({ text }) => plain.includes(text) || bytes.includes(text));

/** Out of its gzip too, where it is in one. */
function unpacked(text: string | Buffer): Text {
  if (typeof text === 'string') return { plain: text, folded: text.toLowerCase(), bytes: text };
  const packed = text[0] === 0x1f && text[1] === 0x8b;
  const whole = packed ? Buffer.concat([text, gunzipSync(text)]) : text;
  const plain = whole.toString('utf8');
  return { plain, folded: plain.toLowerCase(), bytes: whole.toString('latin1') };
}

function formsOf(value: string): Forms {
  const bytes = Buffer.from(value);
  const hex = bytes.toString('hex');
  const folded = [
    { name: 'as it is', text: value },
    { name: 'in a URL', text: encodeURIComponent(value) },
    { name: 'in a form', text: new URLSearchParams([['', value]]).toString().slice(1) },
    { name: 'in percents', text: hex.replace(/../g, '%$&') },
    { name: 'in JSON', text: JSON.stringify(value).slice(1, -1) },
    { name: 'in hex', text: hex },
  ].map(({ name, text }) => ({ name, text: text.toLowerCase() }));
  const exact = [0, 1, 2].flatMap((before) =>
    (['base64', 'base64url'] as const).map((name) => ({ name: `in ${name}`, text: within(bytes, before, name) })),
  );
  return { folded, exact };
}

/** What is always the same of it in base64, however much stands before and behind it. @param before bytes, modulo 3 */
function within(bytes: Buffer, before: number, encoding: 'base64' | 'base64url'): string {
  const text = Buffer.concat([Buffer.alloc(before), bytes])
    .toString(encoding)
    .replace(/=+$/, '');
  const first = Math.ceil((before * 8) / 6);
  const last = Math.floor(((before + bytes.length) * 8) / 6);
  return text.slice(first, last);
}
