// Trees by their raw bytes: names, modes, duplicates, caps, and trees that unfold without end.
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { UpstreamFault } from '../../../upstream/fault.ts';
import { objectName } from '../../../upstream/git/objects.ts';
import { decodeTreeMemory, encodeTreeMemory } from '../../../upstream/git/tree-memory.ts';
import { TreeMissing, type Walked, walk } from '../../../upstream/git/walk.ts';
import { newPace } from '../../../upstream/pace.ts';
import { processorTime } from '../../fixtures/processor-time.ts';

const file = 'f'.repeat(40);

/** Tree objects by their names. */
class Trees {
  readonly objects = new Map<string, Buffer>();

  add(items: [mode: string, name: string | Buffer, oid?: string][]): string {
    const data = Buffer.concat(
      items.flatMap(([mode, name, oid = file]) => [
        Buffer.from(`${mode} `),
        Buffer.from(name as string),
        Buffer.from([0]),
        Buffer.from(oid, 'hex'),
      ]),
    );
    return this.raw(data);
  }

  raw(data: Buffer): string {
    const oid = objectName('tree', data);
    this.objects.set(oid, data);
    return oid;
  }

  walk(root: string): Promise<Walked> {
    return walk(root, (oid) => this.objects.get(oid), newPace());
  }
}

const paths = (walked: Walked) => walked.files.map(({ path }) => path);
const remarks = (walked: Walked) => walked.remarks.map(({ reason, path }) => [reason, path]);

test('files, links and folders come out in the order of the tree, submodules and the rest as remarks', async () => {
  const trees = new Trees();
  const inner = trees.add([
    ['100755', 'run.sh'],
    ['120000', 'to', '1'.repeat(40)],
  ]);
  const walked = await trees.walk(
    trees.add([
      ['100644', 'a.md'],
      ['100664', 'b.md'],
      ['100600', 'c.md'],
      ['40000', 'd', inner],
      ['040000', 'e', inner],
      ['160000', 'sub'],
      ['60644', 'device'],
      ['0', 'nothing'],
    ]),
  );
  const id = `sha1:${file}`;
  assert.deepEqual(walked.files, [
    { path: 'a.md', id },
    { path: 'b.md', id },
    { path: 'c.md', id },
    { path: 'd/run.sh', id },
    { path: 'e/run.sh', id },
  ]);
  assert.deepEqual(walked.links, [
    { path: 'd/to', oid: '1'.repeat(40) },
    { path: 'e/to', oid: '1'.repeat(40) },
  ]);
  assert.deepEqual(remarks(walked), [
    ['Submodule', 'sub'],
    ['SpecialFile', 'device'],
    ['SpecialFile', 'nothing'],
  ]);
  assert.equal(walked.trees.size, 2);
});

describe('a name', () => {
  const bad: [name: string | Buffer, shown: string][] = [
    ['a\\b.md', 'a\\b.md'],
    ['..', '..'],
    ['.', '.'],
    ['', ''],
    ['/etc', '/etc'],
    ['a/b', 'a/b'],
    ['.git', '.git'],
    ['.GIT', '.GIT'],
    ['.git.', '.git.'],
    ['.git ', '.git '],
    ['git~1', 'git~1'],
    ['.git::$INDEX_ALLOCATION', '.git::$INDEX_ALLOCATION'],
    ['.g\u200cit', '.g\u200cit'],
    ['two\nlines', 'two\\x0alines'],
    ['two\rlines', 'two\\x0dlines'],
    [Buffer.from([0x61, 0xff, 0x62]), 'a\\xffb'],
    [Buffer.from([0xed, 0xa0, 0x80]), '\\xed\\xa0\\x80'],
  ];
  for (const [name, shown] of bad) {
    test(`${JSON.stringify(shown)} is left out and reported, the rest goes on`, async () => {
      const trees = new Trees();
      const walked = await trees.walk(
        trees.add([
          ['100644', 'ok.md'],
          ['100644', name],
          ['100644', 'too.md'],
        ]),
      );
      assert.deepEqual(paths(walked), ['ok.md', 'too.md']);
      assert.deepEqual(remarks(walked), [['BadFileName', shown]]);
    });
  }

  for (const name of [
    '...',
    '.gitignore',
    '.github',
    'gitx',
    '.git1',
    'a b',
    'é',
    'e\u0301',
    '\u00a0',
    'C:',
    'x\ty',
    '.gitmodules',
  ]) {
    test(`${JSON.stringify(name)} is a fine one and comes out as it is`, async () => {
      const trees = new Trees();
      const walked = await trees.walk(trees.add([['100644', name]]));
      assert.deepEqual(paths(walked), [name]);
      assert.deepEqual(walked.remarks, []);
    });
  }

  test('composed and decomposed are two files', async () => {
    const trees = new Trees();
    assert.equal(
      (
        await trees.walk(
          trees.add([
            ['100644', 'é.md'],
            ['100644', 'e\u0301.md'],
          ]),
        )
      ).files.length,
      2,
    );
  });

  test('that stands twice: the first wins, the second is reported', async () => {
    const trees = new Trees();
    const inner = trees.add([['100644', 'x']]);
    const walked = await trees.walk(
      trees.add([
        ['100644', 'a', '1'.repeat(40)],
        ['100644', 'a'],
        ['40000', 'a', inner],
      ]),
    );
    assert.deepEqual(walked.files, [{ path: 'a', id: `sha1:${'1'.repeat(40)}` }]);
    assert.deepEqual(remarks(walked), [
      ['BadFileName', 'a'],
      ['BadFileName', 'a'],
    ]);
  });

  test('of a folder that is unfit leaves the folder out with one remark, even one that is not at hand', async () => {
    const trees = new Trees();
    const walked = await trees.walk(
      trees.add([
        ['40000', '..', 'e'.repeat(40)],
        ['100644', 'ok.md'],
      ]),
    );
    assert.deepEqual(paths(walked), ['ok.md']);
    assert.deepEqual(remarks(walked), [['BadFileName', '..']]);
  });
});

const limited = (message: RegExp) => (error: unknown) =>
  error instanceof UpstreamFault && error.reason === 'LimitExceeded' && message.test(error.message);

describe('a tree', () => {
  test('that unfolds to ten billion entries is refused at once', async () => {
    const trees = new Trees();
    let tree = trees.add(Array.from({ length: 10 }, (_, index) => ['100644', `f${index}`]));
    for (let level = 0; level < 9; level++) {
      tree = trees.add(Array.from({ length: 10 }, (_, index) => ['40000', `d${index}`, tree]));
    }
    const spent = processorTime();
    await assert.rejects(trees.walk(tree), limited(/500000 entries/));
    assert(spent() < 2000);
  });

  test('of 500,000 entries is read, of one more is not; folders count', async () => {
    const trees = new Trees();
    const leaf = trees.add(Array.from({ length: 999 }, (_, index) => ['100644', `f${index}`]));
    const folders = Array.from({ length: 500 }, (_, index): [string, string, string] => ['40000', `d${index}`, leaf]);
    assert.equal((await trees.walk(trees.add(folders))).files.length, 499_500);
    await assert.rejects(trees.walk(trees.add([...folders, ['100644', 'one']])), limited(/500000 entries/));
  });

  const nested = (trees: Trees, folders: number, name = 'd') => {
    let tree = trees.add([['100644', 'f']]);
    for (let level = 0; level < folders; level++) tree = trees.add([['40000', name, tree]]);
    return tree;
  };

  test('64 levels deep is read, deeper is not, however it is met first', async () => {
    const trees = new Trees();
    assert.equal((await trees.walk(nested(trees, 63))).files.length, 1);
    await assert.rejects(trees.walk(nested(trees, 64)), limited(/64 folders deep/));
    await assert.rejects(trees.walk(nested(trees, 3000)), limited(/64 folders deep/));
    const shallow = nested(trees, 40);
    let deep = shallow;
    for (let level = 0; level < 40; level++) deep = trees.add([['40000', 'x', deep]]);
    await assert.rejects(
      trees.walk(
        trees.add([
          ['40000', 'a', shallow],
          ['40000', 'b', deep],
        ]),
      ),
      limited(/64 folders deep/),
    );
  });

  test('with a path of 1,024 bytes is read, of one more is not', async () => {
    const trees = new Trees();
    const long = (bytes: number) =>
      trees.add([['40000', 'd'.repeat(500), trees.add([['100644', 'é'.repeat(bytes / 2)]])]]);
    assert.equal((await trees.walk(long(522))).files.length, 1);
    await assert.rejects(trees.walk(long(524)), limited(/1024 bytes/));
  });

  test('that lacks a part says so', async () => {
    const trees = new Trees();
    await assert.rejects(trees.walk(trees.add([['40000', 'd', 'e'.repeat(40)]])), TreeMissing);
  });

  test('that is no tree is UpstreamInvalid', async () => {
    const trees = new Trees();
    for (const data of ['100644 a', '100644 a\0short', `x a\0${'x'.repeat(20)}`, `1000000000 a\0${'x'.repeat(20)}`]) {
      const invalid = (error: unknown) => error instanceof UpstreamFault && error.reason === 'UpstreamInvalid';
      await assert.rejects(trees.walk(trees.raw(Buffer.from(data))), invalid);
    }
  });

  test('that is empty has nothing', async () => {
    const trees = new Trees();
    assert.deepEqual(paths(await trees.walk(trees.add([]))), []);
  });
});

describe('trees kept for the next refresh', () => {
  const memory = {
    commit: 'c'.repeat(40),
    root: 'd'.repeat(40),
    trees: new Map([
      ['1'.repeat(40), Buffer.from('tree one')],
      ['2'.repeat(40), Buffer.alloc(0)],
    ]),
    links: new Map([['3'.repeat(40), Buffer.from('../target')]]),
  };

  test('come back as they were', () => assert.deepEqual(decodeTreeMemory(encodeTreeMemory(memory)), memory));

  test('are not believed with any byte flipped, cut short, made longer, or of another version', () => {
    const file = encodeTreeMemory(memory);
    for (let at = 0; at < file.length; at++) {
      const flipped = Buffer.from(file);
      flipped[at]! ^= 1;
      assert.equal(decodeTreeMemory(flipped), undefined, `byte ${at}`);
      assert.equal(decodeTreeMemory(file.subarray(0, at)), undefined, `${at} bytes`);
    }
    assert.equal(decodeTreeMemory(Buffer.concat([file, Buffer.from('x')])), undefined);
  });
});
