// What every page has around its own content: head, search, the way to everything else.
import { artifactKinds } from '../snapshot/snapshot.ts';
import { icon } from './assets.ts';
import { visibleCounts } from './counts.ts';
import { type Html, html } from './html.ts';
import { htmlDocument } from './html-document.ts';
import { folderOf, type KindFolder } from './places.ts';
import type { Visit } from './visit.ts';

export const kindTitles: Readonly<Record<KindFolder, string>> = {
  skills: 'Skills',
  prompts: 'Prompts',
  rules: 'Rules',
  profiles: 'Profiles',
};

export interface PageContent {
  /** Of the browser's window, before the gateway's name. Left out: that alone. */
  title?: string;
  main: Html;
  /** What is searched for. */
  query?: string;
  /** Which entry of the navigation this is: a path. */
  here?: string;
}

/** A whole page of a catalogue. */
export function cataloguePage(visit: Visit, { title, main, query = '', here }: PageContent): string {
  const { links, door } = visit;
  const windowTitle = title === undefined ? `${door.gateway} · Lyceum` : `${title} · ${door.gateway}`;
  const hidden = [...links.scope].map(([name, value]) => html`<input type="hidden" name="${name}" value="${value}">`);
  return htmlDocument(
    windowTitle,
    html`<header class="top">
<div class="bar">
<a class="brand" href="${links.to('/')}"><img src="${icon.href}" alt="" width="28" height="28"><span>${door.gateway}</span></a>
<form class="search" role="search" action="/" method="get" data-search="${links.to('/search.json')}">
${hidden}<label class="unseen" for="search">Search names, tags and descriptions</label>
<input id="search" type="search" name="q" value="${query}" maxlength="256" placeholder="Search" autocomplete="off" spellcheck="false">
<button type="submit">Search</button>
<div id="found" class="found" role="listbox" aria-label="Best matches" hidden></div>
<p id="found-status" class="unseen" role="status"></p>
</form>
</div>
${navigation(visit, here)}
</header>
<main id="main" tabindex="-1">
${narrowed(visit)}
${main}
</main>
<footer><p>Served by Lyceum. Agents read the same at <code>${door.url}</code>.</p></footer>`,
  );
}

function navigation(visit: Visit, here: string | undefined): Html {
  const counts = visibleCounts(visit.view);
  const entry = (path: string, title: string, count?: number): Html =>
    html`<li><a href="${visit.links.to(path)}"${path === here && html` aria-current="page"`}>${title}${
      count !== undefined && html` <span class="count">${count.toLocaleString('en')}</span>`
    }</a></li>`;
  return html`<nav class="kinds" aria-label="Catalogue"><ul>
${entry('/', 'Overview')}
${artifactKinds.map((kind) => entry(`/${folderOf(kind)}`, kindTitles[folderOf(kind)], counts[kind]))}
${entry('/libraries', 'Libraries', visit.view.libraries.size)}
${entry('/sources', 'Sources', visit.view.sources.length)}
</ul></nav>`;
}

/** Says that this is not all, where the request itself narrows. */
function narrowed({ links }: Visit): Html | undefined {
  const { scope } = links;
  if (scope.size === 0) return undefined;
  const [library, tags] = [scope.get('library'), scope.get('tags')];
  return html`<p class="notice">Narrowed to${library !== null && html` <strong>${library}</strong>`}${
    tags !== null && html` what is tagged <strong>${tags.split(',').join(' or ')}</strong>`
  }, as a client that connects with this scope sees it. <a href="/">Show everything</a></p>`;
}
