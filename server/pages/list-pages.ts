// The pages that list: the overview, one of each kind, the libraries, and what a search finds.
import type { ArtifactKind } from '../../catalogue/source-catalogue.ts';
import { counted } from '../answers/words.ts';
import type { Artifact } from '../snapshot/snapshot.ts';
import { connectSection } from './connect-section.ts';
import { kindCounts, visibleCounts } from './counts.ts';
import { type Html, html } from './html.ts';
import { cataloguePage, kindTitles } from './layout.ts';
import { artifactList, libraryList, rowsPerPage } from './listing.ts';
import { paged, pager } from './paging.ts';
import { folderOf } from './places.ts';
import { search, termsOf } from './search.ts';
import { troubledSources } from './source-pages.ts';
import type { Visit } from './visit.ts';

const librariesOnOverview = 9;
const librariesPerPage = 30;

/** The overview; what a search finds where `?q=` stands in the URL. @throws QueryTooLong */
export async function homePage(visit: Visit): Promise<string> {
  const query = visit.parameters.get('q')?.trim() ?? '';
  return query === '' ? await overview(visit) : await resultsPage(visit, query);
}

async function overview(visit: Visit): Promise<string> {
  const { view, links, door } = visit;
  const all = paged(await search(view, []), visit.parameters.get('page'), rowsPerPage);
  const href = (page: number): string => `${links.to('/', page === 1 ? {} : { page: String(page) })}#artifacts`;
  const first = all.page === 1;
  const main = html`<section class="intro">
<h1>${door.gateway}</h1>
<p>${summary(visit)}</p>
</section>
${first && librariesSection(visit)}
<div class="columns">
<section id="artifacts" class="content" aria-labelledby="artifacts-title">
<h2 id="artifacts-title">Everything by name</h2>
${all.total === 0 ? html`<p>Nothing is here in this scope.</p>` : artifactList(visit, all.rows, 3)}
${pager(all, 'everything', href)}
</section>
<aside aria-label="Use and state">${connectSection(visit)}
${troubledSources(visit)}</aside>
</div>`;
  return cataloguePage(visit, { main, here: '/' });
}

/** What there is, in a sentence. */
function summary({ view }: Visit): string {
  const libraries = view.libraries.size;
  if (libraries === 0) return 'No library yet, or none in this scope.';
  return `${kindCounts(visibleCounts(view))}, in ${libraries === 1 ? 'one library' : `${libraries} libraries`}.`;
}

function librariesSection(visit: Visit): Html | undefined {
  const libraries = [...visit.view.libraries.values()];
  if (libraries.length === 0) return undefined;
  const more = libraries.length > librariesOnOverview;
  return html`<section aria-labelledby="libraries-title">
<h2 id="libraries-title">Libraries</h2>
${libraryList(visit, libraries.slice(0, librariesOnOverview), 3)}
${more && html`<p><a href="${visit.links.to('/libraries')}">All ${libraries.length.toLocaleString('en')} libraries</a></p>`}
</section>`;
}

async function resultsPage(visit: Visit, query: string): Promise<string> {
  const { view, links, parameters } = visit;
  const found = paged(await search(view, termsOf(query)), parameters.get('page'), rowsPerPage);
  const main = html`<h1>${found.total === 0 ? 'Nothing' : counted(found.total, 'result')} for “${query}”</h1>
${
  found.total === 0
    ? html`<p>Every word must stand in a name, a tag or the description. A word with a colon, as in <code>lang:go</code>, is a whole tag.
<a href="${links.to('/')}">Back to the overview</a></p>`
    : artifactList(visit, found.rows, 2)
}
${pager(found, 'results', (page) => links.to('/', { q: query, page: String(page) }))}`;
  return cataloguePage(visit, { title: `Search: ${query}`, main, query });
}

export async function kindPage(visit: Visit, kind: ArtifactKind): Promise<string> {
  const folder = folderOf(kind);
  const ofKind = (artifact: Artifact): boolean => artifact.kind === kind;
  const all = paged((await search(visit.view, [])).filter(ofKind), visit.parameters.get('page'), rowsPerPage);
  const main = html`<h1>${kindTitles[folder]}</h1>
${all.total === 0 ? html`<p>There are no ${folder} in this scope.</p>` : artifactList(visit, all.rows, 2)}
${pager(all, folder, (page) => visit.links.to(`/${folder}`, { page: String(page) }))}`;
  return cataloguePage(visit, { title: kindTitles[folder], main, here: `/${folder}` });
}

export function librariesPage(visit: Visit): string {
  const { view, links, parameters } = visit;
  const all = paged([...view.libraries.values()], parameters.get('page'), librariesPerPage);
  const main = html`<h1>Libraries</h1>
${all.total === 0 ? html`<p>There are no libraries in this scope.</p>` : libraryList(visit, all.rows, 2)}
${pager(all, 'libraries', (page) => links.to('/libraries', { page: String(page) }))}`;
  return cataloguePage(visit, { title: 'Libraries', main, here: '/libraries' });
}
