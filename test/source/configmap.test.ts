// ConfigMaps as sources: keys to paths, revisions, and what cannot be a path.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { digestOf } from '../../catalogue/digest.ts';
import { openConfigMapSource } from '../../operator/source/configmap.ts';
import type { TreeEntry } from '../../operator/source/source.ts';

const limits = { files: 100, fileSize: 64, totalSize: 1024 };

const open = (data: Record<string, string | Buffer>, annotations: Record<string, string> = {}) =>
  openConfigMapSource(
    'pack',
    { data: new Map(Object.entries(data).map(([key, value]) => [key, Buffer.from(value as string)])), annotations },
    { limits, received: () => {} },
  );

async function contentOf(source: ReturnType<typeof open>) {
  const tree = await source.open();
  const files: Record<string, string> = {};
  const tooLarge: Record<string, number> = {};
  await tree.read(tree.entries, {
    take: (entry: TreeEntry, bytes) => {
      files[entry.path] = bytes.toString();
    },
    tooLarge: (entry, size) => {
      tooLarge[entry.path] = size;
    },
  });
  return { files, tooLarge, problems: tree.problems.map(({ reason, path }) => `${reason} ${path}`), tree };
}

test('two underscores in a key are a slash, one is itself', async () => {
  const { files, problems } = await contentOf(open({ 'skills__my_skill__SKILL.md': 'text', 'README.md': 'read me' }));
  assert.deepEqual(files, { 'skills/my_skill/SKILL.md': 'text', 'README.md': 'read me' });
  assert.deepEqual(problems, []);
});

test('the annotation says where two underscores are meant', async () => {
  const paths = JSON.stringify({ 'init.py': 'skills/x/__init__.py' });
  const { files } = await contentOf(open({ 'init.py': 'pass', a__b: 'b' }, { 'lyceum.dev/paths': paths }));
  assert.deepEqual(files, { 'skills/x/__init__.py': 'pass', 'a/b': 'b' });
});

test('a key that the annotation names and the ConfigMap lacks is a problem', async () => {
  const { problems } = await contentOf(open({}, { 'lyceum.dev/paths': '{"gone":"a/b.md"}' }));
  assert.deepEqual(problems, ['BadFileName a/b.md']);
});

test('an annotation that is no map from key to path fails the source, without repeating it', async () => {
  for (const annotation of ['{', '[]', 'null', '{"a":1}', '"hunter2"']) {
    assert.throws(
      () => open({ a: '' }, { 'lyceum.dev/paths': annotation }),
      (fault: { reason: string; message: string }) =>
        fault.reason === 'UpstreamInvalid' &&
        fault.message.includes('lyceum.dev/paths') &&
        !fault.message.includes('hunter2'),
    );
  }
});

test('keys whose paths cannot be are named, the rest is served', async () => {
  const paths = JSON.stringify({ up: '../up', abs: '/abs', two: 'a/b' });
  const data = { up: '', abs: '', two: 'two', 'ok.md': 'ok', a____b: '', __lead: '', '..data': 'fine', a__b: 'first' };
  const { files, problems } = await contentOf(open(data, { 'lyceum.dev/paths': paths }));
  assert.deepEqual(files, { 'ok.md': 'ok', '..data': 'fine', 'a/b': 'first' });
  assert.deepEqual(problems.sort(), [
    'BadFileName ../up',
    'BadFileName /abs',
    'BadFileName /lead',
    'BadFileName a//b',
    'BadFileName a/b',
  ]);
});

test('the revision moves with content and paths, and with nothing else', async () => {
  const revision = (data: Record<string, string>, annotations = {}) => open(data, annotations).probe();
  const first = await revision({ a: '1', b: '2' });
  assert.match(first, /^sha256:[0-9a-f]{64}$/);
  assert.equal(await revision({ b: '2', a: '1' }, { note: 'x' }), first);
  assert.notEqual(await revision({ a: '1', b: '3' }), first);
  assert.notEqual(await revision({ a: '1', c: '2' }), first);
  assert.notEqual(await revision({ a: '2', b: '1' }), first);
  assert.notEqual(await revision({ a: '1', b: '2' }, { 'lyceum.dev/paths': '{"b":"c"}' }), first);
  assert.equal((await open({ a: '1', b: '2' }).open()).revision, first);
});

test('content is known by its digest and byte-exact; a value over the limit is told as such', async () => {
  const bytes = Buffer.from([0, 255, 254, 13, 10]);
  const source = open({ bin: bytes, big: 'x'.repeat(65) });
  const tree = await source.open();
  assert.equal(tree.entries.find(({ path }) => path === 'bin')?.id, digestOf(bytes));
  const { tooLarge } = await contentOf(source);
  assert.deepEqual(tooLarge, { big: 65 });
  await tree.read(
    tree.entries.filter(({ path }) => path === 'bin'),
    { take: (_entry, taken) => assert.deepEqual(taken, bytes), tooLarge: () => assert.fail() },
  );
});

test('a ConfigMap that is not there is NotFound, by name', () => {
  assert.throws(() => openConfigMapSource('pack', undefined, { limits, received: () => {} }), {
    reason: 'NotFound',
    message: /"pack"/,
  });
});
