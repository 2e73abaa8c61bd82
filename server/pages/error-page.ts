// What a browser is shown in the place of a page: that something is not there, or not now, and what can be done.
import { html } from './html.ts';
import { htmlDocument } from './html-document.ts';

const titles: Readonly<Record<number, string>> = {
  401: 'A token is needed',
  403: 'Not allowed',
  404: 'Not found',
  414: 'Too long',
  503: 'Not available right now',
};

export function errorPage(status: number, message: string): string {
  const title = titles[status] ?? 'That did not work';
  return htmlDocument(
    `${title} · Lyceum`,
    html`<main id="main" class="bare" tabindex="-1"><p class="status-number">${status}</p>
<h1>${title}</h1>
<p>${message}</p>
<p><a href="/">To the catalogue</a></p></main>`,
  );
}
