// Links in README and docs lead somewhere.
import assert from 'node:assert/strict';
import { access } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { anchors, links, pages, repository, resolved } from './pages.ts';

const all = await pages();
const byPath = new Map(all.map((page) => [page.path, page]));

for (const page of all) {
  test(`every relative link in ${page.path} resolves`, async () => {
    for (const target of links(page)) {
      if (/^https?:/.test(target)) continue;
      const [file = '', anchor] = target.split('#', 2);
      const path = file === '' ? page.path : resolved(page, file);
      assert.ok(!path.startsWith('..'), `${target} leads out of the repository`);
      await assert.doesNotReject(access(join(repository, path)), `${target}: ${path} is not there`);
      if (anchor === undefined) continue;
      const to = byPath.get(path);
      assert.ok(to !== undefined && anchors(to).has(anchor), `${target}: no such heading`);
    }
  });
}

test('every page below docs/ can be reached from README.md', () => {
  const reached = new Set(['README.md']);
  for (const path of reached) {
    const page = byPath.get(path);
    if (page === undefined) continue;
    for (const target of links(page)) {
      const file = target.split('#')[0]!;
      if (file !== '' && !/^https?:/.test(file)) reached.add(resolved(page, file));
    }
  }
  const lost = [...byPath.keys()].filter((path) => !reached.has(path));
  assert.deepEqual(lost, []);
});
