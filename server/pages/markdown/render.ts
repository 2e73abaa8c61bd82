// Markdown to HTML that is safe by construction: no HTML of the author's passes, and a link leads to the web, to a place in the
// text or to a file of the artifact, never anywhere else.
import newMarkdownIt, { type MarkdownIt, type Token } from 'markdown-it';
import { encodePath } from '../../../catalogue/address.ts';
import { legible } from '../legible.ts';

export interface MarkdownSource {
  text: string;
  /** Folder of the text within the artifact; empty for its root. */
  folder: string;
  /** The files that may be linked to. */
  files: readonly string[];
  /** What stands before and behind the path of one of them in its URL. */
  before: string;
  behind: string;
}

const deepest = 100;
const longestLink = 2048;
/** Bytes of links in all: a definition of a long one may be used many times. */
const mostLinkText = 256 * 1024;
const idPrefix = 'text-';

/**
 * Headings are one level lower than they are written, since a page has its own first one. Undefined for a text of which the
 * parser would leave something out, since it is nested too deeply.
 */
export function renderMarkdown(source: MarkdownSource): string | undefined {
  const markdown = newMarkdownIt({ html: false, maxNesting: deepest });
  // What a link may be is decided below, where it is known what it is relative to.
  markdown.validateLink = () => true;
  const { renderer } = markdown;
  renderer.rules.table_open = () => '<div class="scroll" role="group" aria-label="Table" tabindex="0"><table>\n';
  renderer.rules.table_close = () => '</table></div>\n';
  renderer.rules.fence = (all, at) => preformatted(all[at]!.content, markdown);
  renderer.rules.code_block = (all, at) => preformatted(all[at]!.content, markdown);
  const tokens = markdown.parse(legible(source.text), {});
  if (tokens.some(({ nesting, level }) => nesting === 1 && level >= deepest - 1)) return undefined;
  const targets = new Targets(source);
  const slugs = new Map<string, number>();
  for (const [at, token] of tokens.entries()) {
    if (token.type === 'heading_open') {
      token.attrSet('id', headingId(tokens[at + 1]!, slugs));
      token.tag = lowered(token.tag);
    }
    if (token.type === 'heading_close') token.tag = lowered(token.tag);
    // A style would be refused by the page's policy.
    if (token.type === 'th_open' || token.type === 'td_open') token.attrs = null;
    if (token.children !== null) token.children = targeted(token.children, targets, token);
  }
  return renderer.render(tokens, markdown.options, {});
}

/** It can have the focus, since it may be wider than the page: keys scroll it then. */
const preformatted = (text: string, { utils }: MarkdownIt): string =>
  `<pre tabindex="0"><code>${utils.escapeHtml(text)}</code></pre>\n`;

const lowered = (tag: string): string => `h${Math.min(6, Number(tag.slice(1)) + 1)}`;

/** As GitHub makes them, with a prefix: no text takes the id of something that the page has. */
function headingId({ children }: Token, slugs: Map<string, number>): string {
  const words = (children ?? []).map(({ content }) => content).join('');
  const slug = words
    .toLowerCase()
    .replace(/[^\p{L}\p{N}\s_-]/gu, '')
    .trim()
    .replace(/\s/g, '-')
    .slice(0, 128);
  const before = slugs.get(slug) ?? 0;
  slugs.set(slug, before + 1);
  return idPrefix + (before === 0 ? slug : `${slug}-${before}`);
}

/** Links that lead nowhere become plain text, and so do pictures of other places. */
function targeted(tokens: readonly Token[], targets: Targets, inline: Token): Token[] {
  const TokenOf = inline.constructor as new (type: string, tag: string, nesting: -1 | 0 | 1) => Token;
  const open: Token[] = [];
  const done: Token[] = [];
  for (const token of tokens) {
    if (token.type === 'link_open') {
      open.push(token);
      const target = targets.ofLink(String(token.attrGet('href') ?? ''));
      token.attrs = target === undefined ? [] : [['href', target.href]];
      if (target === undefined) token.tag = 'span';
      else if (target.elsewhere) token.attrs.push(['rel', 'noopener noreferrer nofollow']);
    } else if (token.type === 'link_close') {
      token.tag = open.pop()?.tag ?? token.tag;
    } else if (token.type === 'image') {
      const target = targets.ofFile(String(token.attrGet('src') ?? ''));
      if (target === undefined) {
        const text = new TokenOf('text', '', 0);
        text.content = `[picture: ${token.content}]`;
        done.push(text);
        continue;
      }
      token.attrs = [
        ['src', target.href],
        ['alt', ''],
        ['loading', 'lazy'],
      ];
    }
    done.push(token);
  }
  return done;
}

interface Target {
  href: string;
  elsewhere: boolean;
}

class Targets {
  readonly #source: MarkdownSource;
  readonly #files: ReadonlySet<string>;
  #left = mostLinkText;

  constructor(source: MarkdownSource) {
    this.#source = source;
    this.#files = new Set(source.files);
  }

  /** @param written the target as the parser gives it: entities resolved, percent-encoded */
  ofLink(written: string): Target | undefined {
    if (written.startsWith('#')) return this.#within({ href: `#${idPrefix}${written.slice(1)}`, elsewhere: false });
    if (/^(?:https?:\/\/|mailto:)[^\s]/i.test(written)) return this.#within({ href: written, elsewhere: true });
    return this.ofFile(written);
  }

  ofFile(written: string): Target | undefined {
    if (/^[/\\?#]|^[a-z][a-z0-9+.-]*:/i.test(written)) return undefined;
    const path = pathFrom(this.#source.folder, written.replace(/[?#].*$/s, ''));
    if (path === undefined || !this.#files.has(path)) return undefined;
    return this.#within({ href: this.#source.before + encodePath(path) + this.#source.behind, elsewhere: false });
  }

  #within(target: Target): Target | undefined {
    this.#left -= target.href.length;
    return target.href.length > longestLink || this.#left < 0 ? undefined : target;
  }
}

/** A path within the artifact; undefined for one that leads out of it. */
function pathFrom(folder: string, relative: string): string | undefined {
  let decoded: string;
  try {
    decoded = decodeURIComponent(relative);
  } catch {
    return undefined;
  }
  const path: string[] = folder === '' ? [] : folder.split('/');
  for (const segment of decoded.split('/')) {
    if (segment === '' || segment === '.') continue;
    if (segment !== '..') path.push(segment);
    else if (path.pop() === undefined) return undefined;
  }
  return path.join('/');
}
