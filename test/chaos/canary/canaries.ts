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

interface Planted {
  value: string;
  /** Whatever its case. */
  folded: readonly Form[];
  exact: readonly Form[];
}

interface Form {
  name: string;
  text: string;
}

export class Canaries {
  /** What each was planted as, by its value. */
  readonly #planted = new Map<string, { as: string; forms: Planted }>();

  /** @param as where it goes, in words @param value one that is there already; a new one where nothing is said */
  plant(as: string, value = `canary${randomBytes(12).toString('hex')}`): string {
    if (value.length < 8) throw new Error(`${as}: too short to be told from other words`);
    if (!this.#planted.has(value)) this.#planted.set(value, { as, forms: formsOf(value) });
    return value;
  }

  get size(): number {
    return this.#planted.size;
  }

  /** @returns a line for each canary that stands there: what it was planted as, and in which form */
  found({ where, text, except = [] }: Place): string[] {
    const [bytes, plain] = unpacked(text);
    const folded = plain.toLowerCase();
    const lines: string[] = [];
    for (const { as, forms } of this.#planted.values()) {
      if (except.includes(forms.value)) continue;
      const form =
        forms.folded.find(({ text: words }) => folded.includes(words)) ??
        forms.exact.find(({ text: words }) => plain.includes(words) || bytes.includes(words));
      if (form !== undefined) lines.push(`${where}: ${as}, ${form.name}`);
    }
    return lines;
  }
}

/** As bytes and as UTF-8; out of its gzip where it is in one. */
function unpacked(text: string | Buffer): [string, string] {
  if (typeof text === 'string') return [text, text];
  const packed = text[0] === 0x1f && text[1] === 0x8b;
  const whole = packed ? Buffer.concat([text, gunzipSync(text)]) : text;
  return [whole.toString('latin1'), whole.toString('utf8')];
}

function formsOf(value: string): Planted {
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
  return { value, folded, exact };
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
