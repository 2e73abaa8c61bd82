// HTML that is right by construction: a tagged template whose values are escaped unless they are HTML already.
import { legible } from './legible.ts';

/** A piece of HTML. Text becomes one by the template alone, or by whoever vouches for it. */
export class Html {
  readonly text: string;
  constructor(text: string) {
    this.text = text;
  }
}

export type Piece = Html | string | number | undefined | false | readonly Piece[];

/** Values may stand in text and in quoted attributes; `undefined` and `false` are nothing. */
export function html(strings: TemplateStringsArray, ...pieces: readonly Piece[]): Html {
  let text = strings[0]!;
  for (const [at, piece] of pieces.entries()) text += textOf(piece) + strings[at + 1]!;
  return new Html(text);
}

function textOf(piece: Piece): string {
  if (piece === undefined || piece === false) return '';
  if (piece instanceof Html) return piece.text;
  if (typeof piece === 'object') return piece.map(textOf).join('');
  return escaped(String(piece));
}

const entities: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
};

const escaped = (text: string): string => legible(text).replace(/[&<>"']/g, (character) => entities[character]!);
