// Of several operators on one volume the one that was elected last publishes; the one before notices, and writes nothing.
import assert from 'node:assert/strict';
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { readIndex } from '../../catalogue/index-reader.ts';
import { claimPath } from '../../catalogue/layout.ts';
import { Claim, Displaced } from '../../operator/publish/claim.ts';
import { publishIndex } from '../../operator/publish/gateway-publication.ts';
import { Volume } from '../../operator/publish/volume.ts';
import { gateway, indexContent, temporaryFolder } from './support.ts';

const content = (instructions: string) => ({ ...indexContent([]), instructions });

test('who was elected before another one publishes nothing more, and is told', async () => {
  await using folder = await temporaryFolder();
  const volume = Volume.at(folder.path);
  const told: Displaced[] = [];
  const first = new Claim(volume, (why) => told.push(why));
  const second = new Claim(volume, () => assert.fail('the second was elected last'));
  const publish = (words: string, claim: Claim) => publishIndex(volume, gateway, content(words), Date.now(), claim);
  const generation = async () => (await readIndex(folder.path, gateway.namespace, gateway.name)).generation;
  await first.make();
  await publish('one', first);
  await second.make();
  await assert.rejects(publish('two', first), Displaced);
  assert.equal(told.length, 1);
  assert.equal(await generation(), 1);
  await publish('three', second);
  await assert.rejects(publish('four', first), Displaced);
  assert.equal(await generation(), 2);
});

test('a claim that could not be made at the election is made with the first publication', async () => {
  await using folder = await temporaryFolder();
  const volume = Volume.at(folder.path);
  const claim = new Claim(volume, () => assert.fail('nobody else has claimed it'));
  await publishIndex(volume, gateway, content('one'), Date.now(), claim);
  assert.ok((await volume.read(claimPath))!.length > 0);
});

test('a volume that was emptied is claimed anew', async () => {
  await using folder = await temporaryFolder();
  const volume = Volume.at(folder.path);
  const claim = new Claim(volume, () => assert.fail('nobody else has claimed it'));
  await claim.make();
  await rm(join(folder.path, claimPath));
  await claim.check();
  assert.ok((await volume.read(claimPath))!.length > 0);
});
