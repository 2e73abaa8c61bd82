// Lists of artifacts and of libraries, as several pages have them.
import { defaultVersion } from '../../catalogue/versions.ts';
import { counted } from '../answers/words.ts';
import type { Artifact } from '../snapshot/snapshot.ts';
import type { VisibleLibrary } from '../view.ts';
import { countByKind, kindCounts } from './counts.ts';
import { type Html, html } from './html.ts';
import { calledAs, isSearchable } from './search.ts';
import type { Visit } from './visit.ts';

/** With all that a row may hold, and in whatever script, a page of so many stays below 100 KB. */
export const rowsPerPage = 30;
const longestSummary = 200;
const mostTags = 4;
const longestTag = 24;
const mostGroups = 6;

/** As much of a text as there is room for, whole words where that is most of it. */
export function summary(text: string, longest = longestSummary): string {
  if (text.length <= longest) return text;
  const blank = text.lastIndexOf(' ', longest - 1);
  const cut = text.slice(0, blank > longest / 2 ? blank : longest - 1);
  return `${cut.isWellFormed() ? cut : cut.slice(0, -1)}…`;
}

/** @param level of each row's heading */
export function artifactList(visit: Visit, artifacts: readonly Artifact[], level: 2 | 3): Html {
  return html`<ul class="artifacts">${artifacts.map((artifact) => artifactRow(visit, artifact, level))}</ul>`;
}

function artifactRow(visit: Visit, artifact: Artifact, level: 2 | 3): Html {
  const { links, downloads } = visit;
  const { kind, from, row } = artifact;
  const taken = downloads.of(artifact);
  const name = html`<a href="${links.artifact(artifact)}">${summary(calledAs(artifact), 128)}</a>`;
  return html`<li>
${level === 2 ? html`<h2>${name}</h2>` : html`<h3>${name}</h3>`}
<p class="where"><span class="kind">${kind}</span> <a href="${links.to('/', { library: from.library })}">${from.library}</a>${
    row.version !== defaultVersion && html` <span>${summary(row.version, 32)}</span>`
  }${taken > 0 && html` <span>${counted(taken, 'download')}</span>`}</p>
${row.description !== '' && html`<p class="about" dir="auto">${summary(row.description)}</p>`}
${tagList(visit, row.tags, mostTags)}</li>
`;
}

/** Each leads to what else has it, where a search finds that; of one that is too long, its beginning is shown. */
export function tagList({ links }: Visit, tags: readonly string[], most: number): Html | undefined {
  if (tags.length === 0) return undefined;
  const more = tags.length - most;
  return html`<ul class="tags" aria-label="Tags">${tags
    .slice(0, most)
    .map((tag) =>
      tag.length > longestTag || !isSearchable(tag)
        ? html`<li>${summary(tag, longestTag)}</li>`
        : html`<li><a href="${links.to('/', { q: tag })}">${tag}</a></li>`,
    )}${more > 0 && html`<li>and ${more} more</li>`}</ul>`;
}

export function libraryList(visit: Visit, libraries: readonly VisibleLibrary[], level: 2 | 3): Html {
  return html`<ul class="libraries">${libraries.map((library) => libraryRow(visit, library, level))}</ul>`;
}

function libraryRow({ view, links }: Visit, { library, artifacts, files }: VisibleLibrary, level: 2 | 3): Html {
  const { name, title, description } = library;
  const link = html`<a href="${links.to('/', { library: name })}">${summary(title ?? name, 100)}</a>`;
  const groups = [...new Set(artifacts.skill.flatMap(({ row }) => row.group ?? []))].filter((one) =>
    view.groups.has(one),
  );
  const more = groups.length - mostGroups;
  return html`<li>
${level === 2 ? html`<h2>${link}</h2>` : html`<h3>${link}</h3>`}
<p class="where">${title !== undefined && html`<code>${name}</code> `}${kindCounts(countByKind([artifacts]))}${
    files.length > 0 && `, ${counted(files.length, 'pack file')}`
  }</p>
${description !== undefined && html`<p class="about" dir="auto">${summary(description)}</p>`}
${
  groups.length > 0 &&
  html`<ul class="tags" aria-label="Groups">${groups
    .toSorted()
    .slice(0, mostGroups)
    .map((group) => html`<li><a href="${links.to('/', { library: group })}">${group}</a></li>`)}${
    more > 0 && html`<li>and ${more} more</li>`
  }</ul>`
}</li>
`;
}
