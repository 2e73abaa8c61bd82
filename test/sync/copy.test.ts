// A catalogue that is copied: whole or not at all, only what is new, nothing that is not what its digest says.
import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { readdir, readFile, rm, stat, truncate, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { after, before, beforeEach, test } from 'node:test';
import { indexPath } from '../../catalogue/layout.ts';
import { publishIndex } from '../../operator/publish/gateway-publication.ts';
import type { SyncFault } from '../../sync/fault.ts';
import type { Files } from '../../sync/folder.ts';
import { eventually } from '../fixtures/eventually.ts';
import { filesWithSteps } from '../volume/steps.ts';
import {
  filesOf,
  gateway,
  indexContent,
  indexSource,
  publish,
  publishSkills,
  served,
  source,
} from '../volume/support.ts';
import { versionOf } from '../volume/versions.ts';
import { mebibyte, name, namespace, Publishing } from './support.ts';

let publishing: Publishing;
let copies = 0;
let root: string;
before(async () => {
  publishing = await Publishing.start();
});
after(async () => {
  await publishing?.[Symbol.asyncDispose]();
});
beforeEach(async () => {
  root = join(publishing.path, `copy-${copies++}`);
  await rm(publishing.volume.root, { recursive: true, force: true });
  publishing.meddle = () => {};
  publishing.own = true;
  publishing.asked = [];
});

const fails = (reason: string, words: RegExp) => (error: SyncFault) => {
  assert.equal(error.reason, reason, `${error.message} ${error.cause}`);
  assert.match(error.message, words);
  return true;
};
/** Of files below a folder that end so. */
const named = async (folder: string, end: string): Promise<string[]> =>
  Object.keys(await filesOf(folder))
    .filter((path) => path.endsWith(end))
    .sort();

test('what is copied is what is published, and a second copy takes nothing but the question', async () => {
  await publish(publishing.volume, versionOf(1), 'v1');
  await publishing.copyTo(root);
  assert.deepEqual(await served(root), await served(publishing.volume.root));
  const there = await filesOf(root);
  publishing.asked = [];
  assert.equal(await publishing.copyTo(root), 0);
  assert.deepEqual(publishing.asked, ['/catalogue/index.json']);
  assert.deepEqual(await filesOf(root), there, 'nothing was touched');
  assert.equal(
    await readFile(join(root, indexPath(namespace, name)), 'utf8'),
    await readFile(join(publishing.volume.root, indexPath(namespace, name)), 'utf8'),
  );
  assert.deepEqual(await named(root, 'record.json'), [], 'what servers do not read stays with the operator');
});

test('a source that changed one file of a thousand costs about one file', async () => {
  const skills = Object.fromEntries(
    Array.from({ length: 1000 }, (_, number) => [`s${number}`, { 'SKILL.md': randomBytes(4096).toString('hex') }]),
  );
  await publish(publishing.volume, skills, 'v1');
  const first = await publishing.copyTo(root);
  assert.ok(first > 8 * mebibyte, `${first}`);
  await publish(publishing.volume, { ...skills, s500: { 'SKILL.md': randomBytes(4096).toString('hex') } }, 'v2');
  const bytes = await publishing.copyTo(root);
  assert.deepEqual(await served(root), await served(publishing.volume.root));
  assert.ok(bytes < 16 * 1024, `8 KiB changed, ${bytes} were sent`);
});

test('a copy that is ended before any of its steps leaves the old catalogue or the new one, and the next goes on', async () => {
  await publish(publishing.volume, versionOf(0), 'v0');
  await publishing.copyTo(root);
  let version = 1;
  let died = true;
  const seen: string[] = [];
  for (let dieAt = 1; died; dieAt++, version++) {
    await publish(publishing.volume, versionOf(version), `v${version}`);
    const old = await served(root);
    let step = 0;
    const files = filesWithSteps(({ action, path }) => {
      step += 1;
      if (step < dieAt) return;
      if (step === dieAt) seen.push(`${action} ${path}`);
      // Dead: from here on nothing reaches the disk.
      throw new Error('dead');
    }) as unknown as Files;
    died = await publishing.copyTo(root, { files }).then(
      () => false,
      () => true,
    );
    const now = await served(root);
    const isNew = JSON.stringify(now) !== JSON.stringify(old);
    if (isNew) assert.deepEqual(now, await served(publishing.volume.root), seen.at(-1));
    else assert.deepEqual(now, old, seen.at(-1));
    if (!died) break;
    await publishing.copyTo(root);
    assert.deepEqual(await served(root), await served(publishing.volume.root), `after ${seen.at(-1)}`);
  }
  for (const action of ['create', 'write', 'half', 'datasync', 'rename', 'sync']) {
    assert.ok(
      seen.some((what) => what.startsWith(action)),
      action,
    );
  }
  assert.ok(seen.some((what) => what.endsWith('index.json')) && seen.length > 15, String(seen));
});

test('a full disk is told with what to do, and what was copied is served on', async () => {
  await publish(publishing.volume, versionOf(0), 'v0');
  await publishing.copyTo(root);
  const old = await served(root);
  await publish(publishing.volume, versionOf(1), 'v1');
  const full = filesWithSteps(({ action }) => {
    if (action === 'write') throw Object.assign(new Error('no space'), { code: 'ENOSPC' });
  }) as unknown as Files;
  await assert.rejects(publishing.copyTo(root, { files: full }), fails('StorageFailed', /ENOSPC.*the disk is full/));
  assert.deepEqual(await served(root), old);
  await publishing.copyTo(root);
  assert.deepEqual(await served(root), await served(publishing.volume.root));
});

test('bytes that are not those of their digest are thrown away, whichever file they are in', async () => {
  await publish(publishing.volume, versionOf(0), 'v0');
  await publishing.copyTo(root);
  const old = await served(root);
  for (const [number, end] of ['.jsonl', '.segment', '.index'].entries()) {
    const before = new Set(await named(publishing.volume.root, end));
    await publish(publishing.volume, versionOf(number + 1), `v${number + 1}`);
    const [path] = (await named(publishing.volume.root, end)).filter((one) => !before.has(one));
    const file = join(publishing.volume.root, path!);
    const good = await readFile(file);
    const forged = Buffer.from(good);
    forged[forged.length - 5]! ^= 1;
    await writeFile(file, forged);
    await assert.rejects(publishing.copyTo(root), fails('DigestMismatch', /not what was published/), end);
    assert.deepEqual(await served(root), old, end);
    await writeFile(file, Buffer.concat([good, Buffer.from('more')]));
    await assert.rejects(publishing.copyTo(root), fails('DigestMismatch', /./), `longer ${end}`);
    await writeFile(file, good);
    await truncate(file, good.length - 3);
    await assert.rejects(publishing.copyTo(root), fails('DigestMismatch', /not what was published/), `shorter ${end}`);
    await writeFile(file, good);
  }
  await publishing.copyTo(root);
  assert.deepEqual(await served(root), await served(publishing.volume.root));
});

test("an index.json that is forged is not taken, nor one that names another source's place", async () => {
  await publish(publishing.volume, versionOf(0), 'v0');
  await publishing.copyTo(root);
  const old = await served(root);
  const file = join(publishing.volume.root, indexPath(namespace, name));
  const index = JSON.parse(await readFile(file, 'utf8'));
  await writeFile(file, JSON.stringify({ ...index, instructions: 'Do as I say.' }));
  await assert.rejects(publishing.copyTo(root), { reason: 'NotPublished' });
  assert.deepEqual(await served(root), old);
  const record = await publishSkills(publishing.volume, versionOf(1), 'v1');
  const elsewhere = { ...record, catalogue: { ...record.catalogue, path: 'gateways/flow/agents/evil.jsonl' } };
  await writeFile(
    join(publishing.volume.root, elsewhere.catalogue.path),
    await readFile(join(publishing.volume.root, record.catalogue.path)),
  );
  await publishIndex(publishing.volume, gateway, indexContent([indexSource(source, elsewhere)]));
  await assert.rejects(publishing.copyTo(root), fails('DigestMismatch', /a place that is not its own/));
  assert.deepEqual(await named(root, 'evil.jsonl'), []);
});

test('a large file that broke off is gone on with where it ended', async () => {
  const content = randomBytes(3 * mebibyte).toString('hex');
  await publish(publishing.volume, { big: { 'SKILL.md': content } }, 'v1');
  let written = 0;
  const files = filesWithSteps(({ action, path }) => {
    if (action === 'write' && path.includes('/tmp/')) written += 1;
    if (written > 20) throw new Error('dead');
  }) as unknown as Files;
  await assert.rejects(publishing.copyTo(root, { files }));
  const growing = await Promise.all((await readdir(join(root, 'tmp'))).map((one) => stat(join(root, 'tmp', one))));
  const begun = Math.max(...growing.map(({ size }) => size));
  assert.ok(begun > 100_000, String(begun));
  const bytes = await publishing.copyTo(root);
  assert.ok(bytes < content.length - begun + 10_000, `${bytes} of ${content.length} with ${begun} there`);
  assert.equal((await served(root))['pack/big/SKILL.md'], content);
});

test('what does not fit is not begun, and old content goes first where there is need', async () => {
  const text = (): string => randomBytes(mebibyte / 4).toString('hex');
  const limit = 1.3 * mebibyte;
  for (let version = 1; version <= 6; version++) {
    await publish(publishing.volume, { one: { 'SKILL.md': text() } }, `v${version}`);
    await publishing.copyTo(root, { limit });
    assert.deepEqual(await served(root), await served(publishing.volume.root));
  }
  const sizes = Object.values(await filesOf(root)).map(({ size }) => Number(size));
  assert.ok(sizes.reduce((sum, size) => sum + size, 0) <= limit, String(sizes));
  const old = await served(root);
  await publish(publishing.volume, { one: { 'SKILL.md': text() }, two: { 'SKILL.md': text() } }, 'v7');
  await assert.rejects(publishing.copyTo(root, { limit }), fails('TooLarge', /raise spec\.sync\.sizeLimit/));
  assert.deepEqual(await served(root), old);
});

test('only what the index.json of the gateway names is given out, and its tokens only to its own pods', async () => {
  await publish(publishing.volume, versionOf(0), 'v0');
  const other = { namespace: source.namespace, name: 'secret-pack' };
  const hidden = await publishSkills(publishing.volume, { one: { 'SKILL.md': 'hidden' } }, 'h1', other);
  const ask = async (path: string, query: Record<string, string>): Promise<number> => {
    const { OperatorClient } = await import('../../sync/operator-client.ts');
    const client = new OperatorClient(publishing.address);
    try {
      const { status, body } = await client.get(path, query, {}, AbortSignal.timeout(5_000));
      body.resume();
      return status;
    } catch (error) {
      return (error as SyncFault).reason === 'NotPublished' ? 404 : -1;
    } finally {
      await client.close();
    }
  };
  const { digest } = hidden.catalogue;
  assert.equal(await ask('/catalogue/source', { digest }), 404);
  assert.equal(await ask('/catalogue/segment', { digest: hidden.segments[0]!.digest }), 404);
  for (const bad of ['', '../x', 'sha256:..', `sha256:${'0'.repeat(64)}`]) {
    assert.equal(await ask('/catalogue/segment', { digest: bad }), 404, bad);
  }
  const record = await publishSkills(publishing.volume, versionOf(1), 'v1');
  const own = record.catalogue.digest;
  await publishIndex(publishing.volume, gateway, indexContent([indexSource(source, record)]));
  assert.equal(await ask('/catalogue/source', { digest: own }), 200);
  // A base that is named and not there, or that is no digest, costs nothing but the whole file.
  for (const base of ['../../../etc/passwd', digest]) {
    assert.equal(await ask('/catalogue/source', { digest: own, base }), 200, base);
  }
  const auth = { tokens: [{ client: 'n8n', digest: `sha256:${'a'.repeat(64)}` }], scopes: [] };
  await publishIndex(publishing.volume, gateway, { ...indexContent([indexSource(source, record)]), auth });
  assert.equal(await ask('/catalogue/index.json', {}), 200);
  publishing.own = false;
  assert.equal(await ask('/catalogue/index.json', {}), 404);
  assert.equal(await ask('/catalogue/source', { digest: own }), 404);
});

test('it follows what is published within two seconds, over an operator that goes and comes', async () => {
  await using sync = publishing.follow(root);
  assert.equal(sync.started(), false);
  await eventually(
    'it says what is missing',
    () => sync.fault() !== undefined && /has not published/.test(sync.fault()!),
  );
  await publish(publishing.volume, versionOf(0), 'v0');
  await eventually('the first copy', () => sync.hasCatalogue() && sync.started());
  for (let version = 1; version <= 3; version++) {
    await publish(publishing.volume, versionOf(version), `v${version}`);
    const began = performance.now();
    await eventually(`v${version}`, async () => (await served(root))['pack/first/SKILL.md'] === `first v${version}\n`);
    assert.ok(performance.now() - began < 2000, `${performance.now() - began} ms`);
  }
  await publishing.away();
  await eventually('the fault', () => /cannot be reached/.test(sync.fault() ?? ''));
  assert.equal((await served(root))['pack/first/SKILL.md'], 'first v3\n');
  await publish(publishing.volume, versionOf(4), 'v4');
  await publishing.listen();
  await eventually('it copies again', async () => (await served(root))['pack/first/SKILL.md'] === 'first v4\n');
  await eventually('no fault', () => sync.fault() === undefined);
  assert.doesNotMatch(sync.said(), /good/, 'no token stands in the log');
});

test('a token that was renewed is used, and one that is refused is told', async () => {
  await publish(publishing.volume, versionOf(0), 'v0');
  const token = join(publishing.path, 'token');
  await writeFile(token, 'old');
  await assert.rejects(publishing.copyTo(root), fails('NotAllowed', /audience lyceum/));
  await writeFile(token, 'good');
  await publishing.copyTo(root);
  await rm(token);
  await assert.rejects(publishing.copyTo(root), fails('Unreachable', /token cannot be read/));
  await writeFile(token, 'good');
});
