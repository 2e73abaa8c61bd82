// Rendered Markdown within bounds of size and time: what is beyond them is shown as it stands.
import { hash } from 'node:crypto';
import { setTimeout as pause } from 'node:timers/promises';
import { Html, html } from '../html.ts';
import type { MarkdownSource } from './render.ts';
import { MarkdownThread } from './thread.ts';

/** In characters. The longest texts of the packs that people use are far below it. */
const longestText = 256 * 1024;
const longestHtml = 4 * 1024 * 1024;
/** In UTF-16 units, of all that is kept. */
const keptAtMost = 8 * 1024 * 1024;
const withinMs = 2_000;
/** Whoever waits longer for his turn, or with so many others, is shown the text as it stands. */
const waitAtMostMs = 4_000;
const mostWaiting = 32;
/** When a text that took too long may be tried again: the machine may have been busy. */
const tryAgainAfterMs = 300_000;

/** `text` is undefined where it took too long. */
interface Kept {
  text: string | undefined;
  at: number;
}

export class Markdown {
  #thread: MarkdownThread | undefined;
  #waiting = 0;
  #last: Promise<unknown> = Promise.resolve();
  #closed = false;
  /** By all that decides. */
  readonly #kept = new Map<string, Kept>();
  #keptSize = 0;

  /** Never rejects: a text that cannot be rendered in time is shown as it stands. */
  async render(source: MarkdownSource): Promise<Html> {
    if (source.text.length > longestText) return asItStands(source.text);
    const key = hash('sha256', JSON.stringify(source));
    if (!this.#isKnown(key) && this.#waiting < mostWaiting) await this.#inTurn(key, source);
    const text = this.#kept.get(key)?.text;
    return text === undefined ? asItStands(source.text) : new Html(text);
  }

  async close(): Promise<void> {
    this.#closed = true;
    await this.#thread?.end();
  }

  #isKnown(key: string): boolean {
    const kept = this.#kept.get(key);
    return kept !== undefined && (kept.text !== undefined || performance.now() - kept.at < tryAgainAfterMs);
  }

  async #inTurn(key: string, source: MarkdownSource): Promise<void> {
    this.#waiting += 1;
    const turn = this.#last
      .then(() => this.#rendered(key, source))
      // Where no thread can be begun, as in a container that may have no more of them.
      .catch(() => {})
      .finally(() => {
        this.#waiting -= 1;
      });
    this.#last = turn;
    const overdue = new AbortController();
    await Promise.race([turn, pause(waitAtMostMs, undefined, overdue).catch(() => {})]);
    overdue.abort();
  }

  async #rendered(key: string, source: MarkdownSource): Promise<void> {
    if (this.#isKnown(key) || this.#closed) return;
    this.#thread ??= new MarkdownThread();
    const text = await this.#thread.render(source, withinMs);
    if (text === undefined) {
      await this.#thread.end();
      this.#thread = undefined;
    }
    this.#keep(key, text !== undefined && text.length > longestHtml ? undefined : text);
  }

  /** The oldest make room. */
  #keep(key: string, text: string | undefined): void {
    this.#forget(key);
    this.#kept.set(key, { text, at: performance.now() });
    this.#keptSize += sizeOf(text);
    for (const oldest of this.#kept.keys()) {
      if (this.#keptSize <= keptAtMost || oldest === key) break;
      this.#forget(oldest);
    }
  }

  #forget(key: string): void {
    const kept = this.#kept.get(key);
    if (kept !== undefined) this.#keptSize -= sizeOf(kept.text);
    this.#kept.delete(key);
  }
}

/** What a key alone takes. */
const least = 256;
const sizeOf = (text: string | undefined): number => least + (text?.length ?? 0);

/** @param text its beginning alone where it is longer than a page is worth */
function asItStands(text: string): Html {
  const cut = text.length > longestText;
  const why = cut ? 'This text is long: its beginning is shown as it stands.' : 'This text is shown as it stands.';
  return html`<p class="notice">${why}</p>
<pre tabindex="0" class="plain"><code>${cut ? text.slice(0, longestText) : text}</code></pre>`;
}
