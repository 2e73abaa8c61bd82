// Pages of a list for people: numbered, so that they can be linked to and gone through without a script.
import { type Html, html } from './html.ts';

export interface Paged<Row> {
  rows: readonly Row[];
  /** From 1. */
  page: number;
  pages: number;
  total: number;
}

/** @param asked what stands in the URL; whatever is no page of the list is the nearest one */
export function paged<Row>(all: readonly Row[], asked: string | null, rowsPerPage: number): Paged<Row> {
  const pages = Math.max(1, Math.ceil(all.length / rowsPerPage));
  const wanted = /^\d{1,9}$/.test(asked ?? '') ? Number(asked) : 1;
  const page = Math.min(Math.max(1, wanted), pages);
  return { rows: all.slice((page - 1) * rowsPerPage, page * rowsPerPage), page, pages, total: all.length };
}

/** @param href of a page by its number @param what the list is of, for those who cannot see where the links stand */
export function pager({ page, pages }: Paged<unknown>, what: string, href: (page: number) => string): Html | undefined {
  if (pages === 1) return undefined;
  return html`<nav class="pager" aria-label="Pages of ${what}">
${page > 1 && html`<a href="${href(page - 1)}" rel="prev">← Previous</a>`}
<span>Page ${page} of ${pages.toLocaleString('en')}</span>
${page < pages && html`<a href="${href(page + 1)}" rel="next">Next →</a>`}
</nav>`;
}
