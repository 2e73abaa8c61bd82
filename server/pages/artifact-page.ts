// The page of one artifact in one version: its text, and all that is known of it.
import { listedUri } from '../../catalogue/address.ts';
import { splitFrontmatter } from '../../catalogue/frontmatter.ts';
import type { ArtifactRow, FileRow } from '../../catalogue/source-catalogue.ts';
import { defaultVersion } from '../../catalogue/versions.ts';
import { bytesOf } from '../answers/read.ts';
import { counted } from '../answers/words.ts';
import { type Artifact, mainFile } from '../snapshot/snapshot.ts';
import { connectSection, copyable } from './connect-section.ts';
import { type Html, html } from './html.ts';
import { cataloguePage, kindTitles } from './layout.ts';
import { summary, tagList } from './listing.ts';
import type { Markdown } from './markdown/markdown.ts';
import { paged, pager } from './paging.ts';
import { folderOf } from './places.ts';
import { calledAs } from './search.ts';
import type { Visit } from './visit.ts';

const filesPerPage = 50;
const versionsPerPage = 20;
const mostTags = 40;
const longestDescription = 4000;
/** Of a frontmatter, or arguments of a prompt. */
const mostFields = 100;

/** @throws ContentUnavailable */
export async function artifactPage(
  visit: Visit,
  artifact: Artifact,
  row: ArtifactRow,
  markdown: Markdown,
): Promise<string> {
  const { links, view } = visit;
  const { kind, from } = artifact;
  const folder = folderOf(kind);
  const name = calledAs(artifact);
  const newest = row === artifact.row;
  const text = await textSection(visit, artifact, row, markdown);
  const main = html`<p class="where"><a href="${links.to(`/${folder}`)}">${kindTitles[folder]}</a> · <a href="${links.to('/', { library: from.library })}">${from.library}</a>${
    row.group !== undefined &&
    view.groups.has(row.group) &&
    html` · <a href="${links.to('/', { library: row.group })}">${row.group}</a>`
  }</p>
<h1>${name}${!newest && html` <span class="version">${row.version}</span>`}</h1>
${row.title !== undefined && row.title !== name && html`<p class="title" dir="auto">${row.title}</p>`}
${row.description !== '' && html`<p class="lead" dir="auto">${summary(row.description, longestDescription)}</p>`}
${tagList(visit, row.tags, mostTags)}
${!newest && html`<p class="notice">This is version ${row.version}. The newest is <a href="${links.artifact(artifact)}">${artifact.row.version}</a>, which agents read at the address.</p>`}
<div class="columns">
<div class="content">
${text}
${filesSection(visit, artifact, row)}
</div>
<aside aria-label="About this ${kind}">
${factsSection(visit, artifact, row)}
${argumentsSection(row)}
${versionsSection(visit, artifact, row)}
${connectSection(visit, kind === 'skill' && row.advertised && artifact.address === row.name ? { library: from.library, name: row.name } : undefined)}
${frontmatterSection(row)}
</aside>
</div>`;
  const title = newest ? name : `${name} ${row.version}`;
  return cataloguePage(visit, { title: `${title}, ${kind} of ${from.library}`, main, here: `/${folder}` });
}

async function textSection(
  { view, links }: Visit,
  artifact: Artifact,
  row: ArtifactRow,
  markdown: Markdown,
): Promise<Html> {
  const main = mainFile(row);
  if (main === undefined) return html`<p class="notice">It has no text.</p>`;
  const text = (await bytesOf(view, main)).toString();
  const frontmatter = splitFrontmatter(text);
  const slash = main.path.lastIndexOf('/');
  const rendered = await markdown.render({
    text: frontmatter.kind === 'found' ? frontmatter.body : text,
    folder: slash === -1 ? '' : main.path.slice(0, slash),
    files: row.files.map(({ path }) => path),
    ...links.aroundRaw(artifact, row),
  });
  return html`<article class="markdown" aria-label="${main.path}" dir="auto">${rendered}</article>`;
}

function factsSection({ links, downloads }: Visit, artifact: Artifact, row: ArtifactRow): Html {
  const { kind, qualified } = artifact;
  const main = mainFile(row);
  const size = row.files.reduce((sum, file) => sum + file.size, 0);
  const taken = downloads.of(artifact);
  const source = links.to(`/sources/${encodeURIComponent(artifact.from.name)}`);
  return html`<section aria-labelledby="facts-title">
<h2 id="facts-title">${kind === 'prompt' ? 'Name' : 'Address'}</h2>
${kind === 'prompt' ? copyable(qualified, 'the prompt’s name') : copyable(listedUri(qualified), 'the address')}
<dl class="facts">
${row.version !== defaultVersion && html`<dt>Version</dt><dd>${row.version}</dd>`}
${main !== undefined && html`<dt>Digest of ${main.path}</dt><dd>${copyable(main.digest, 'the digest')}</dd>`}
<dt>Size</dt><dd>${bytesInWords(size)} in ${counted(row.files.length, 'file')}</dd>
${kind !== 'prompt' && html`<dt>Downloads</dt><dd>${taken.toLocaleString('en')}</dd>`}
<dt>Source</dt><dd><a href="${source}">${artifact.from.name}</a></dd>
</dl>
${kind === 'skill' && !row.advertised && html`<p class="notice">It does not conform to the Agent Skills specification, so clients that look for conforming skills do not see it. The <a href="${source}">problems of its source</a> say why.</p>`}
<p class="actions">${main !== undefined && html`<a class="action" href="${links.raw(artifact, row, main.path)}">Raw text</a>`}${
    kind !== 'prompt' && html`<a class="action" href="${links.archive(artifact, row)}">Download .tar.gz</a>`
  }</p>
</section>`;
}

function argumentsSection({ prompt }: ArtifactRow): Html | undefined {
  if (prompt === undefined || prompt.arguments.length === 0) return undefined;
  return html`<section aria-labelledby="arguments-title">
<h2 id="arguments-title">Arguments</h2>
<dl class="facts">${prompt.arguments
    .slice(0, mostFields)
    .map(
      ({ name, description, required, default: value }) =>
        html`<dt><code>${name}</code>${required && ' (required)'}</dt><dd dir="auto">${description ?? ''}${
          value !== undefined && html` Default: <code>${summary(value)}</code>`
        }</dd>`,
    )}</dl>
</section>`;
}

function versionsSection({ links, parameters }: Visit, artifact: Artifact, row: ArtifactRow): Html | undefined {
  if (artifact.versions.length < 2) return undefined;
  const newestFirst = artifact.versions.toReversed();
  const all = paged(newestFirst, parameters.get('versions'), versionsPerPage);
  return html`<section id="versions" aria-labelledby="versions-title">
<h2 id="versions-title">Versions</h2>
<ul class="versions">${all.rows.map(
    (one) =>
      html`<li><a href="${links.artifact(artifact, one)}"${one === row && html` aria-current="page"`}>${summary(one.version, 64)}</a>${
        one === artifact.row && ' newest'
      }</li>`,
  )}</ul>
${pager(all, 'versions', (page) => `${links.artifact(artifact, row, { versions: String(page) })}#versions`)}
</section>`;
}

function filesSection({ links, parameters }: Visit, artifact: Artifact, row: ArtifactRow): Html {
  const all = paged(row.files, parameters.get('page'), filesPerPage);
  return html`<section id="files" aria-labelledby="files-title">
<h2 id="files-title">Files</h2>
<div class="scroll" role="group" aria-label="Files" tabindex="0"><table>
<thead><tr><th scope="col">Path</th><th scope="col" class="number">Size</th><th scope="col">SHA-256</th></tr></thead>
<tbody>${all.rows.map((file) => fileRow(links.raw(artifact, row, file.path), file))}</tbody>
</table></div>
${pager(all, 'files', (page) => `${links.artifact(artifact, row, { page: String(page) })}#files`)}
</section>`;
}

const fileRow = (href: string, { path, size, digest }: FileRow): Html => html`<tr>
<th scope="row"><a href="${href}">${path}</a></th>
<td class="number">${bytesInWords(size)}</td>
<td><code class="digest">${digest.replace('sha256:', '')}</code></td>
</tr>
`;

/** What the author says of it, but for what the page has shown. */
function frontmatterSection({ frontmatter }: ArtifactRow): Html | undefined {
  const fields = Object.entries(frontmatter ?? {});
  if (fields.length === 0) return undefined;
  return html`<details class="frontmatter"><summary>Frontmatter</summary>
<dl class="facts">${fields.slice(0, mostFields).map(([name, value]) => html`<dt>${summary(name, 64)}</dt><dd dir="auto">${summary(valueInWords(value), 2000)}</dd>`)}</dl>
</details>`;
}

function valueInWords(value: unknown): string {
  if (typeof value !== 'object' || value === null) return String(value);
  if (Object.values(value).some((one) => typeof one === 'object')) return JSON.stringify(value);
  if (Array.isArray(value)) return value.join(', ');
  return Object.entries(value)
    .map(([name, one]) => `${name}: ${one}`)
    .join('; ');
}

/** `812 B`, `1.4 KiB` */
export function bytesInWords(bytes: number): string {
  const units = ['KiB', 'MiB', 'GiB'];
  let [amount, unit] = [bytes, 'B'];
  while (amount >= 1024 && units.length > 0) [amount, unit] = [amount / 1024, units.shift()!];
  return `${unit === 'B' || amount >= 100 ? Math.round(amount) : amount.toFixed(1)} ${unit}`;
}

/** A name of the archive that every file system takes. */
export function archiveName(artifact: Artifact, row: ArtifactRow): string {
  const words = [artifact.row.name, row.version].join('-');
  return `${words.replace(/[^A-Za-z0-9._-]+/g, '-').slice(0, 128)}.tar.gz`;
}
