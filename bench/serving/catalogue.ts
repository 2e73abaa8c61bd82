// Catalogues of any number of skills, made as the operator makes them: harvested, and published on a volume.
import type { IndexSource } from '../../catalogue/index-file.ts';
import { harvest } from '../../operator/harvest/harvest.ts';
import { openBlobs } from '../../operator/publish/blob-store.ts';
import { publishIndex } from '../../operator/publish/gateway-publication.ts';
import { digestsOf, publishSource } from '../../operator/publish/source-publication.ts';
import type { Volume } from '../../operator/publish/volume.ts';
import type { Tree } from '../../operator/source/source.ts';
import { Random } from '../random.ts';
import { skillText } from '../skill-text.ts';

export const gateway = { namespace: 'bench', name: 'agents' };

const sources = 10;
/** In each source, so that the default listing has as many rows whatever the number of skills. */
const groups = 2;

const limits = { files: 50_000, fileSize: 2 ** 22, totalSize: 2 ** 28 };

export interface PublishedSources {
  rows: IndexSource[];
  /** Bytes of the catalogue files: header and rows. */
  catalogueBytes: number;
}

/** The library, group and name of a skill by its number. */
export function skillPlace(number: number): { library: string; group: string; name: string } {
  const library = number % sources;
  const group = Math.floor(number / sources) % groups;
  return { library: `library-${library}`, group: `group-${library}-${group}`, name: `skill-${number}` };
}

/**
 * Publishes the sources of a catalogue; index.json is not touched.
 * @param variant catalogues of two variants have the same addresses, and no skill's text in common
 */
export async function publishSources(volume: Volume, skills: number, variant: number): Promise<PublishedSources> {
  const rows: IndexSource[] = [];
  let catalogueBytes = 0;
  for (let source = 0; source < sources; source++) {
    const row = await publishOne(volume, source, skills, variant);
    rows.push(row);
    catalogueBytes += row.catalogue!.size;
  }
  return { rows, catalogueBytes };
}

/** Renames an index.json of these sources into place. */
export async function publishCatalogue(volume: Volume, rows: IndexSource[]): Promise<number> {
  const { generation } = await publishIndex(volume, gateway, { scope: {}, libraries: [], sources: rows });
  return generation;
}

async function publishOne(volume: Volume, source: number, skills: number, variant: number): Promise<IndexSource> {
  const name = `library-${source}`;
  const key = { namespace: gateway.namespace, name };
  const tree = treeOf(source, skills, variant);
  const rules = { include: {}, exclude: [], subdirectory: '', library: name, source: name, url: 'file:///', limits };
  await using blobs = await openBlobs(volume, key, []);
  const result = await harvest(tree, rules, new Map(), blobs);
  const segments = await blobs.seal(digestsOf(result));
  const publication = { harvest: result, revision: tree.revision, segments };
  const { catalogue } = await publishSource(volume, key, publication);
  return {
    name,
    state: 'ok',
    library: name,
    tags: [],
    refreshSeconds: 300,
    revision: tree.revision,
    built: '2026-11-30T12:00:00Z',
    counts: result.counts,
    catalogue,
    moves: [],
  };
}

const prompts = 3;

/** A tree in memory: each skill a SKILL.md, every fourth with two files beside it; and a few prompts. */
function treeOf(source: number, skills: number, variant: number): Tree {
  const random = new Random(1000 * source + variant);
  const files = new Map<string, Buffer>();
  for (let number = source; number < skills; number += sources) {
    const { group, name } = skillPlace(number);
    const folder = `skills/${group}/${name}`;
    files.set(`${folder}/SKILL.md`, Buffer.from(skillText(name, random)));
    if (Math.floor(number / sources) % 4 !== 0) continue;
    files.set(`${folder}/references/details.md`, Buffer.from(random.text(600)));
    files.set(`${folder}/scripts/run.sh`, Buffer.from(`#!/bin/sh\n${random.text(200)}\n`));
  }
  for (let number = 0; number < prompts; number++) {
    files.set(
      `prompts/prompt-${number}.md`,
      Buffer.from(`---\ndescription: Prompt ${number}.\n---\n${random.text(400)}\n`),
    );
  }
  return {
    revision: `main@sha1:${String(variant).padStart(40, '0')}`,
    entries: [...files.keys()].map((path) => ({ path })),
    problems: [],
    read: async (wanted, sink) => {
      for (const entry of wanted) await sink.take(entry, files.get(entry.path)!);
    },
    close: async () => {},
  };
}
