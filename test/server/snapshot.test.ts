// Building a snapshot: order, slices, and the bounds of what is remembered.
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { ContentReader } from '../../catalogue/content.ts';
import type { Index } from '../../catalogue/index-file.ts';
import { Slices } from '../../catalogue/slices.ts';
import type { ArtifactRow, PackFileRow, SourceCatalogue } from '../../catalogue/source-catalogue.ts';
import { keptBody } from '../../server/answers/kept-bodies.ts';
import { resolve } from '../../server/answers/read.ts';
import { intersect, settingScope } from '../../server/scope.ts';
import { buildSnapshot } from '../../server/snapshot/build.ts';
import { artifactFile } from '../../server/snapshot/keys.ts';
import { promptNamed } from '../../server/snapshot/snapshot.ts';
import { sortInSlices } from '../../server/snapshot/sort.ts';
import { type View, visible } from '../../server/view.ts';

const content: ContentReader = { read: async () => Buffer.alloc(0) };

const row = (address: string, extra: Partial<ArtifactRow> = {}): ArtifactRow => ({
  row: 'artifact',
  kind: 'skill',
  address,
  name: address,
  version: '0.0.0',
  folder: address,
  description: '',
  tags: [],
  advertised: true,
  main: 'SKILL.md',
  files: [],
  ...extra,
});

function catalogueOf(artifacts: ArtifactRow[], files: PackFileRow[] = []): SourceCatalogue {
  const counts = {
    skills: 0,
    prompts: 0,
    rules: 0,
    profiles: 0,
    files: 0,
    discovered: 0,
    duplicates: 0,
    rejected: 0,
    problems: 0,
  };
  const source = { namespace: 'n', name: 's' };
  return {
    header: { row: 'header', format: 1, source, revision: 'r', counts, files: 0, size: 0, segments: [] },
    artifacts,
    files,
    problems: [],
  };
}

const indexOf = (...sources: { name: string; library?: string }[]): Index => ({
  format: 1,
  gateway: { namespace: 'n', name: 'g' },
  generation: 1,
  published: '2026-11-30T12:00:00Z',
  digest: `sha256:${'0'.repeat(64)}`,
  scope: {},
  libraries: [],
  sources: sources.map(({ name, library = name }) => ({
    name,
    library,
    state: 'ok',
    tags: [],
    moves: [],
    catalogue: { path: name, digest: `sha256:${'1'.repeat(64)}`, size: 1 },
  })),
});

describe('a snapshot', () => {
  it('has all skills in the order of their addresses, whatever order they were found in', async () => {
    const { skills } = await buildSnapshot(
      indexOf({ name: 'b' }, { name: 'a-b' }, { name: 'a', library: 'a' }, { name: 'late', library: 'a' }),
      new Map([
        ['b', catalogueOf([row('z'), row('y')])],
        ['a-b', catalogueOf([row('x')])],
        ['a', catalogueOf([row('y'), row('c-d'), row('c')])],
        ['late', catalogueOf([row('late--x/c'), row('b')])],
      ]),
      content,
    );
    const addresses = skills.map(({ qualified }) => qualified);
    assert.deepEqual(addresses, ['a-b/x', 'a/b', 'a/c', 'a/c-d', 'a/late--x/c', 'a/y', 'b/y', 'b/z']);
  });

  it('takes the first of several rows with one address, and passes over kinds that it does not know', async () => {
    const { skills, sources } = await buildSnapshot(
      indexOf({ name: 's' }),
      new Map([
        [
          's',
          catalogueOf([row('a', { version: '2.0.0' }), row('a', { version: '1.0.0' }), row('a', { kind: 'spell' })]),
        ],
      ]),
      content,
    );
    assert.deepEqual(
      skills.map((skill) => [skill.qualified, skill.row.version]),
      [['s/a', '2.0.0']],
    );
    assert.equal(sources[0]!.content.artifacts.skill.length, 1);
  });

  it('is built in slices, so that requests get their turn', async () => {
    const rows = Array.from({ length: 60_000 }, (_, at) => row(`s${(at * 7919) % 60_000}`));
    let turns = 0;
    let building = true;
    const tick = (): void => {
      turns++;
      if (building) setImmediate(tick);
    };
    setImmediate(tick);
    const { skills } = await buildSnapshot(indexOf({ name: 's' }), new Map([['s', catalogueOf(rows)]]), content);
    building = false;
    assert.equal(skills.length, 60_000);
    assert.ok(turns >= 5, `${turns} turns of the event loop`);
  });
});

describe('the kinds in a snapshot', () => {
  const kinds = ['skill', 'prompt', 'rule', 'profile'] as const;

  it('stand apart: one name may be a skill, a prompt, a rule and a profile', async () => {
    const snapshot = await buildSnapshot(
      indexOf({ name: 's' }),
      new Map([['s', catalogueOf(kinds.map((kind) => row('a', { kind, description: kind })))]]),
      content,
    );
    const { shelves } = snapshot.libraries.get('s')!;
    for (const kind of kinds) assert.equal(shelves[kind].at.get('a')!.row.description, kind);
    assert.deepEqual(
      kinds.map((kind) => shelves[kind].all[0]!.qualified),
      ['s/a', 's_a', 's/_rules/a', 's/_profiles/a'],
    );
    assert.equal(promptNamed(snapshot, 's_a')!.kind, 'prompt');
  });

  it('are moved each by moves of its own kind', async () => {
    const index = indexOf({ name: 's' }, { name: 't', library: 's' });
    index.sources[1]!.moves = [
      { kind: 'prompt', from: 'a', to: 't--x_a' },
      { kind: 'rule', from: 'a', to: 't--x/a' },
      { kind: 'profile', from: 'a' },
    ];
    const rows = () => catalogueOf(kinds.map((kind) => row('a', { kind })));
    const catalogues = new Map([
      ['s', rows()],
      ['t', rows()],
    ]);
    const { shelves } = (await buildSnapshot(index, catalogues, content)).libraries.get('s')!;
    const addresses = (kind: (typeof kinds)[number]) =>
      shelves[kind].all.map(({ address, from }) => [address, from.name]);
    assert.deepEqual(addresses('skill'), [['a', 's']], 'the first has the right where nothing is said');
    assert.deepEqual(addresses('prompt'), [
      ['a', 's'],
      ['t--x_a', 't'],
    ]);
    assert.deepEqual(addresses('rule'), [
      ['a', 's'],
      ['t--x/a', 't'],
    ]);
    assert.deepEqual(addresses('profile'), [['a', 's']]);
    assert.deepEqual([shelves.skill.depth, shelves.rule.depth], [1, 2]);
  });
});

describe('sorting in slices', () => {
  it('gives what sorting at once gives, equal items in the order they had', async () => {
    for (const length of [0, 1, 1024, 1025, 5000]) {
      const items = Array.from({ length }, (_, at) => ({ key: (at * 7919) % 97, at }));
      const compare = (a: { key: number }, b: { key: number }): number => a.key - b.key;
      assert.deepEqual(await sortInSlices(items, compare, new Slices()), items.toSorted(compare));
    }
  });
});

describe('views', () => {
  it('are remembered for so many scopes of a snapshot, and for none in which nothing is visible', async () => {
    const snapshot = await buildSnapshot(indexOf({ name: 's' }), new Map([['s', catalogueOf([row('a')])]]), content);
    const all = visible(snapshot, []);
    assert.equal(visible(snapshot, []), all);
    const nothing = visible(snapshot, [{ library: 'nowhere' }]);
    assert.notEqual(visible(snapshot, [{ library: 'nowhere' }]), nothing);
    for (let at = 0; at < 1000; at++) visible(snapshot, [{ library: `nowhere-${at}` }]);
    assert.equal(visible(snapshot, []), all, 'scopes that see nothing push nobody out');
    for (let at = 0; at < 64; at++) visible(snapshot, [{ tags: ['s', `tag-${at}`] }]);
    assert.notEqual(visible(snapshot, []), all, 'the longest unused goes first');
  });
});

describe('the body of an index', () => {
  it('is made once for all views of one scope, and again for another', async () => {
    const rows = [row('a'), row('b')];
    const snapshot = await buildSnapshot(indexOf({ name: 's' }), new Map([['s', catalogueOf(rows)]]), content);
    let made = 0;
    const make = (): string => `made ${++made}`;
    const view = visible(snapshot, []);
    assert.equal(keptBody(view, 's', make), 'made 1');
    assert.equal(keptBody(view, 's', make), 'made 1');
    assert.equal(keptBody({ ...view }, 's', make), 'made 1');
    assert.equal(keptBody(view, 't', make), 'made 2');
    assert.equal(keptBody(visible(snapshot, [{ tags: ['s'] }]), 's', make), 'made 3');
    const next = await buildSnapshot(indexOf({ name: 's' }), new Map([['s', catalogueOf(rows)]]), content);
    assert.equal(keptBody(visible(next, []), 's', make), 'made 4');
  });

  it('is kept within bounds: those used last, and none that is huge', async () => {
    const snapshot = await buildSnapshot(indexOf({ name: 's' }), new Map([['s', catalogueOf([row('a')])]]), content);
    const view = visible(snapshot, []);
    const made: string[] = [];
    const read = (address: string, length: number): number =>
      keptBody(view, address, () => {
        made.push(address);
        return 'x'.repeat(length);
      }).length;
    const mebi = 1024 * 1024;
    for (let at = 0; at < 7; at++) read(`index-${at}`, mebi);
    read('index-0', mebi);
    read('huge', 5 * mebi);
    read('huge', 5 * mebi);
    read('more', mebi);
    read('index-0', mebi);
    read('index-6', mebi);
    assert.deepEqual(made.slice(7), ['huge', 'huge', 'more']);
    read('index-1', mebi);
    assert.equal(made.at(-1), 'index-1', 'the longest unused went first');
  });
});

describe('a request that is made to cost much', () => {
  const millisecondsOf = (work: () => void): number => {
    const begun = performance.now();
    work();
    return performance.now() - begun;
  };

  it('does not, with thousands of tags over thousands of skills', async () => {
    const rows = Array.from({ length: 10_000 }, (_, at) => row(`s${at}`));
    const snapshot = await buildSnapshot(indexOf({ name: 's' }), new Map([['s', catalogueOf(rows)]]), content);
    const tags = Array.from({ length: 4000 }, (_, at) => `tag-${at}`);
    const took = millisecondsOf(() => {
      for (let at = 0; at < 10; at++) assert.equal(visible(snapshot, [{ tags: [...tags, `${at}`] }]).skills.length, 0);
    });
    assert.ok(took < 500, `${took} ms`);
  });

  it('does not, with thousands of slashes', async () => {
    const snapshot = await buildSnapshot(indexOf({ name: 's' }), new Map([['s', catalogueOf([row('a')])]]), content);
    const view = visible(snapshot, []);
    const took = millisecondsOf(() => {
      for (let at = 0; at < 20; at++) assert.equal(resolve(view, `skill://${'/'.repeat(8000)}x`), undefined);
    });
    assert.ok(took < 300, `${took} ms`);
    assert.equal(resolve(view, `skill://s${'/'.repeat(8000)}`)?.kind, 'index');
  });

  it('does not, for a file of a skill that has thousands', () => {
    let looks = 0;
    const paths = Array.from({ length: 5000 }, (_, at) => `été ${String(at).padStart(4, '0')}.md`);
    const files = paths.map((path) => ({
      digest: '',
      size: 0,
      mediaType: 'text/markdown',
      text: true,
      get path() {
        looks++;
        return path;
      },
    }));
    for (const asked of ['été 4321.md', '%C3%A9t%C3%A9%204321.md', 'nothing', '%zz']) {
      looks = 0;
      const found = artifactFile(row('a', { files }), asked);
      assert.equal(found?.path, asked.includes('4321') ? 'été 4321.md' : undefined);
      assert.ok(looks < 50, `${looks} of 5000 files looked at for ${asked}`);
    }
  });
});

describe('intersected scopes', () => {
  const random = (seed: number) => (): number => {
    seed = (seed * 1_103_515_245 + 12_345) % 2 ** 31;
    return seed / 2 ** 31;
  };

  it('never show what one of them hides, whichever way round they are taken', async () => {
    const next = random(7);
    const pick = <T>(items: readonly T[]): T => items[Math.floor(next() * items.length)]!;
    const names = ['a', 'b', 'c', 'd', 'e'];
    const index = indexOf(...names.map((name) => ({ name, library: pick(['lib', 'lab', 'lob']) })));
    for (const source of index.sources) source.tags = [pick(['red', 'green']), pick(['old', 'new'])];
    const catalogues = new Map(
      names.map((name) => [
        name,
        catalogueOf(
          Array.from({ length: 9 }, (_, at) =>
            at < 6
              ? row(`${name}-${at}`, { group: pick(['g', 'h', 'lab', 'i']) })
              : row(`${name}-${at}`, { kind: ['prompt', 'rule', 'profile'][at - 6]! }),
          ),
          [{ row: 'file', path: `${name}.md`, digest: '', size: 0, mediaType: 'text/markdown', text: true }],
        ),
      ]),
    );
    const snapshot = await buildSnapshot(index, catalogues, content);
    const files = [...snapshot.libraries.values()].flatMap((library) => library.files);
    const artifacts = [...snapshot.libraries.values()].flatMap(({ shelves }) =>
      [shelves.skill, shelves.prompt, shelves.rule, shelves.profile].flatMap(({ all }) => all),
    );
    assert.equal(artifacts.length, 45);
    const shown = ({ libraries }: View) =>
      [...libraries.values()].flatMap(({ artifacts: { skill, prompt, rule, profile } }) => [
        ...skill,
        ...prompt,
        ...rule,
        ...profile,
      ]);
    const scope = () =>
      settingScope({
        library: pick(['', 'lib', 'lab', 'g', 'h', 'none']),
        tags: pick([[], ['red'], ['new', 'a'], ['skill'], ['prompt', 'old'], ['rule'], ['none']]),
      });
    let narrowed = 0;
    for (let round = 0; round < 2000; round++) {
      const [one, two] = [scope(), scope()];
      const both = visible(snapshot, intersect(one, two));
      const turned = visible(snapshot, intersect(two, one));
      assert.deepEqual(
        both.skills.map(({ qualified }) => qualified),
        turned.skills.map(({ qualified }) => qualified),
      );
      assert.deepEqual(new Set(shown(both)), new Set(artifacts.filter(both.sees)), 'what is shown is what is seen');
      assert.deepEqual(both.prompts, snapshot.prompts.filter(both.sees));
      assert.deepEqual(both.skills, snapshot.skills.filter(both.sees));
      for (const level of [one, two].map((each) => visible(snapshot, each))) {
        for (const one of artifacts) assert.ok(!both.sees(one) || level.sees(one));
        for (const file of files) assert.ok(!both.seesFile(file) || level.seesFile(file));
        if (both.skills.length < level.skills.length) narrowed++;
      }
    }
    assert.ok(narrowed > 500);
  });
});
