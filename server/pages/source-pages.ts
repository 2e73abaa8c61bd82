// The pages of sources: how each stands, and all that its harvest had to say.
import type { SourceState } from '../../catalogue/index-file.ts';
import type { ArtifactKind, ProblemRow } from '../../catalogue/source-catalogue.ts';
import { counted } from '../answers/words.ts';
import type { ByKind, Source } from '../snapshot/snapshot.ts';
import { kindCounts } from './counts.ts';
import { type Html, html } from './html.ts';
import { cataloguePage } from './layout.ts';
import { summary } from './listing.ts';
import { paged, pager } from './paging.ts';
import type { Visit } from './visit.ts';

const sourcesPerPage = 50;
const problemsPerPage = 100;
const troubledOnOverview = 8;
const longestMessage = 600;

const states: Readonly<Record<SourceState, string>> = {
  ok: 'up to date',
  stale: 'stale',
  failed: 'failed',
  pending: 'pending',
};

const meanings: Readonly<Record<SourceState, string>> = {
  ok: 'What is served is what the last look found.',
  stale: 'The last look failed. What is served is what the last good one found.',
  failed: 'No look has succeeded yet, so nothing of it is served.',
  pending: 'It has not been looked at yet.',
};

/** What needs a person: sources that are not in order, or whose files are not served. */
export function troubledSources(visit: Visit): Html | undefined {
  const troubled = visit.view.sources.filter(
    (source) =>
      source.settings.state !== 'ok' || problemsSeen(visit, source).some(({ severity }) => severity === 'error'),
  );
  if (troubled.length === 0) return undefined;
  const more = troubled.length - troubledOnOverview;
  return html`<section aria-labelledby="troubled-title">
<h2 id="troubled-title">Sources that need a look</h2>
<ul class="troubled">${troubled.slice(0, troubledOnOverview).map((source) => troubledRow(visit, source))}</ul>
${more > 0 && html`<p><a href="${visit.links.to('/sources')}">and ${more.toLocaleString('en')} more</a></p>`}
</section>`;
}

function troubledRow(visit: Visit, source: Source): Html {
  const { name, state, reason } = source.settings;
  const why = state === 'ok' ? severities(problemsSeen(visit, source)) : (reason ?? '');
  return html`<li><a href="${linkTo(visit, name)}">${name}</a> ${state !== 'ok' && stateBadge(state)} <span>${why}</span></li>`;
}

const linkTo = ({ links }: Visit, name: string): string => links.to(`/sources/${encodeURIComponent(name)}`);

const problemsSeen = ({ view }: Visit, source: Source): readonly ProblemRow[] =>
  view.seesWhole(source) ? source.problems : [];

export function sourcesPage(visit: Visit): string {
  const { view, links, parameters } = visit;
  const all = paged(view.sources, parameters.get('page'), sourcesPerPage);
  const main = html`<h1>Sources</h1>
${all.total === 0 ? html`<p>There are no sources in this scope.</p>` : sourceTable(visit, all.rows)}
${pager(all, 'sources', (page) => links.to('/sources', { page: String(page) }))}`;
  return cataloguePage(visit, { title: 'Sources', main, here: '/sources' });
}

function sourceTable(visit: Visit, sources: readonly Source[]): Html {
  return html`<div class="scroll" role="group" aria-label="Sources" tabindex="0"><table>
<thead><tr><th scope="col">Source</th><th scope="col">State</th><th scope="col">Gives</th><th scope="col">Problems</th></tr></thead>
<tbody>${sources.map((source) => {
    const { name, state, reason } = source.settings;
    return html`<tr>
<th scope="row"><a href="${linkTo(visit, name)}">${name}</a></th>
<td>${stateBadge(state)}${reason !== undefined && state !== 'ok' && html` ${reason}`}</td>
<td>${kindCounts(given(visit, source))}</td>
<td>${severities(problemsSeen(visit, source))}</td>
</tr>
`;
  })}</tbody>
</table></div>`;
}

/** "1 error, 4 warnings, 1 note" */
function severities(problems: readonly ProblemRow[]): string {
  const words = { error: 'error', warning: 'warning', info: 'note' } as const;
  const some = (['error', 'warning', 'info'] as const).flatMap((severity) => {
    const count = problems.filter((one) => one.severity === severity).length;
    return count === 0 ? [] : [counted(count, words[severity])];
  });
  return some.length === 0 ? 'none' : some.join(', ');
}

const stateBadge = (state: SourceState): Html => html`<span class="badge badge-${state}">${states[state]}</span>`;

/** What is visible of a source. */
function given({ view }: Visit, { content: { artifacts } }: Source): ByKind<number> {
  const seen = (kind: ArtifactKind): number => artifacts[kind].filter(view.sees).length;
  return { skill: seen('skill'), prompt: seen('prompt'), rule: seen('rule'), profile: seen('profile') };
}

/** Undefined for a source that is absent or out of scope alike. */
export function sourcePage(visit: Visit, name: string): string | undefined {
  const source = visit.view.sources.find(({ settings }) => settings.name === name);
  if (source === undefined) return undefined;
  const { state, reason, library, revision, built } = source.settings;
  const main = html`<p class="where"><a href="${visit.links.to('/sources')}">Sources</a></p>
<h1>${name}</h1>
<p>${stateBadge(state)}${reason !== undefined && state !== 'ok' && html` <strong>${reason}</strong>`} ${meanings[state]}</p>
<dl class="facts">
<dt>Library</dt><dd><a href="${visit.links.to('/', { library })}">${library}</a></dd>
<dt>Gives</dt><dd>${kindCounts(given(visit, source))}</dd>
${revision !== undefined && html`<dt>Revision</dt><dd><code>${summary(revision)}</code></dd>`}
${built !== undefined && html`<dt>Content changed</dt><dd><time datetime="${built}">${timeInWords(built)}</time></dd>`}
</dl>
${problemsSection(visit, source)}`;
  return cataloguePage(visit, { title: name, main, here: '/sources' });
}

/** `2026-11-30T12:00:00Z` as people read it. */
const timeInWords = (time: string): string => time.replace('T', ' ').replace(/(\.\d+)?Z$/, ' UTC');

function problemsSection(visit: Visit, source: Source): Html {
  return html`<section aria-labelledby="problems-title">
<h2 id="problems-title">Problems</h2>
${visit.view.seesWhole(source) ? problemTable(visit, source) : html`<p>Only a part of this source is in scope here, so its problems are not shown.</p>`}
</section>`;
}

function problemTable({ links, parameters }: Visit, { settings: { name }, problems }: Source): Html {
  if (problems.length === 0) return html`<p>None.</p>`;
  const all = paged(problems, parameters.get('page'), problemsPerPage);
  const href = (page: number): string => links.to(`/sources/${encodeURIComponent(name)}`, { page: String(page) });
  return html`<p>${counted(all.total, 'problem')}, worst first.</p>
<ul class="problems">${all.rows.map(problemRow)}</ul>
${pager(all, 'problems', href)}`;
}

const problemRow = ({ path, line, severity, reason, message }: ProblemRow): Html => html`<li class="${severity}">
<p><span class="severity">${severity}</span> <strong>${reason}</strong> <code>${summary(path, 512)}${line !== undefined && `:${line}`}</code></p>
<p dir="auto">${summary(message, longestMessage)}</p>
</li>
`;
