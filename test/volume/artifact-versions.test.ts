// Versions of artifacts on the volume: harvested, published, read back by a server, and what a further version costs.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { SegmentReader } from '../../catalogue/segment-reader.ts';
import type { SegmentRef } from '../../catalogue/source-catalogue.ts';
import { type LoadedSourceCatalogue, readSourceCatalogue } from '../../catalogue/source-catalogue-reader.ts';
import { resolveAddresses } from '../../operator/gateway/addresses.ts';
import { type HarvestResult, harvest, type KnownContents } from '../../operator/harvest/harvest.ts';
import { openBlobs } from '../../operator/publish/blob-store.ts';
import { digestsOf, publishSource } from '../../operator/publish/source-publication.ts';
import { Volume } from '../../operator/publish/volume.ts';
import { summaryOf } from '../../operator/reconcile/source-state.ts';
import { type Files, harvested, rulesOf, skillText, treeOf } from '../harvest/support.ts';
import { source, temporaryFolder } from './support.ts';

const logo = Buffer.from([0x89, 0x50, 0, 0xff, 0x0d, 0x0a]);

const release = (version: string): Files => ({
  [`skills/deploy/${version}/SKILL.md`]: skillText('deploy', `Deploys as of ${version}.`),
  [`skills/deploy/${version}/assets/logo.png`]: logo,
  [`rules/review/${version}/RULE.md`]: `Rules of ${version}.\n`,
  [`profiles/ann/${version}/ann.md`]: `Ann ${version}.\n`,
});

interface Published {
  result: HarvestResult;
  segments: SegmentRef[];
  catalogue: LoadedSourceCatalogue;
}

async function published(volume: Volume, files: Files, before?: Published): Promise<Published> {
  const known: KnownContents = before?.result.contents ?? new Map();
  await using blobs = await openBlobs(volume, source, before?.segments ?? []);
  const result = await harvest(treeOf(files), rulesOf(), known, blobs);
  const segments = await blobs.seal(digestsOf(result).union(new Set(result.kept)));
  const { catalogue } = await publishSource(volume, source, { harvest: result, revision: 'v1', segments });
  return {
    result,
    segments,
    catalogue: await readSourceCatalogue(volume.root, catalogue, { reuse: before?.catalogue }),
  };
}

test('every version comes back from the catalogue file with its bytes, the newest first', async () => {
  await using folder = await temporaryFolder();
  const volume = Volume.at(folder.path);
  const files: Files = { ...release('1.0.0'), ...release('2.0.0'), 'versions.json': '{"skills": {"deploy": {}}}' };
  const { result, segments, catalogue } = await published(volume, files);
  assert.deepEqual(catalogue.artifacts, result.artifacts);
  assert.deepEqual(
    catalogue.artifacts.map(({ kind, address, version, versionsIn }) => `${kind} ${address} ${version} ${versionsIn}`),
    [
      'skill deploy 2.0.0 skills/deploy',
      'skill deploy 1.0.0 skills/deploy',
      'rule review 2.0.0 rules/review',
      'rule review 1.0.0 rules/review',
      'profile ann 2.0.0 profiles/ann',
      'profile ann 1.0.0 profiles/ann',
    ],
  );
  assert.equal(catalogue.header.counts.skills, 1);
  assert.equal(catalogue.header.counts.discovered, 3);
  const reader = new SegmentReader(folder.path);
  try {
    await reader.use([{ ...source, segments }]);
    for (const row of catalogue.artifacts) {
      for (const { path, digest } of row.files) {
        const expected = Buffer.from(files[`${row.folder}/${path}`] as string | Buffer);
        assert.deepEqual(await reader.read(digest), expected, `${row.folder}/${path}`);
      }
    }
  } finally {
    reader.close();
  }
  // The logo is there once, and versions.json, which no row names, is kept for the next look.
  assert.equal(
    segments.reduce((sum, { blobs }) => sum + blobs, 0),
    8,
  );
});

test('a further version costs what is new in it, and the rows of the others are not read again', async () => {
  await using folder = await temporaryFolder();
  const volume = Volume.at(folder.path);
  const old = { ...release('1.0.0'), ...release('1.1.0') };
  const before = await published(volume, old);
  const after = await published(volume, { ...release('2.0.0'), ...old }, before);
  const added = after.segments.filter(({ digest }) => !before.segments.some((segment) => segment.digest === digest));
  assert.deepEqual(
    added.map(({ blobs }) => blobs),
    [3],
  );
  const { artifacts } = after.catalogue;
  assert.deepEqual(
    artifacts.map((row) => `${row.address} ${row.version} ${before.catalogue.artifacts.includes(row)}`),
    [
      'deploy 2.0.0 false',
      'deploy 1.1.0 true',
      'deploy 1.0.0 true',
      'review 2.0.0 false',
      'review 1.1.0 true',
      'review 1.0.0 true',
      'ann 2.0.0 false',
      'ann 1.1.0 true',
      'ann 1.0.0 true',
    ],
  );
});

test('between two sources an artifact moves whole, to an address that its next version does not change', async () => {
  const claimants = async (...versions: string[]) => {
    const old = await harvested(release('1.0.0'));
    const young = await harvested(Object.assign({}, ...versions.map(release)));
    return [
      { name: 'old', library: 'lib', ...summaryOf(old) },
      { name: 'young', library: 'lib', ...summaryOf(young) },
    ];
  };
  for (const versions of [['1.0.0'], ['1.0.0', '3.0.0', 'latest']]) {
    const { moves } = resolveAddresses(await claimants(...versions));
    assert.deepEqual(
      [...moves],
      [
        [
          'young',
          [
            { kind: 'skill', from: 'deploy', to: 'young--skills-deploy/deploy' },
            { kind: 'rule', from: 'review', to: 'young--rules-review/review' },
            { kind: 'profile', from: 'ann', to: 'young--profiles-ann/ann' },
          ],
        ],
      ],
    );
  }
});
