// The reference pages say what the schemas and the commands say.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { kinds } from '../../operator/resources/crd.ts';
import { fieldsOf, rowOf } from './fields.ts';
import { commands, rowsOf } from './options.ts';
import { page, section } from './pages.ts';

const tableLines = (text: string): string[] => text.split('\n').filter((line) => line.startsWith('| `'));

for (const kind of kinds) {
  for (const part of ['spec', 'status']) {
    test(`the reference page of ${kind} has every field of its ${part}, with type, default and meaning`, async () => {
      const reference = await page(`docs/reference/${kind.toLowerCase()}.md`);
      const expected = fieldsOf(kind).filter(({ path }) => path.startsWith(`${part}.`));
      assert.ok(expected.length > 0);
      const table = section(reference, part).split('\n### ')[0]!;
      assert.deepEqual(
        tableLines(table).filter((line) => line.startsWith(`| \`${part}.`)),
        expected.map(rowOf),
      );
    });
  }
}

for (const command of commands) {
  test(`every option of lyceum ${command.name()} stands on the command-line page with its variable`, async () => {
    const reference = await page('docs/reference/command-line.md');
    const expected = rowsOf(command);
    assert.ok(expected.length > 0);
    assert.deepEqual(
      tableLines(section(reference, `lyceum ${command.name()}`)).filter((line) => line.startsWith('| `--')),
      expected,
    );
  });
}
