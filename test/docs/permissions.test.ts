// docs/security.md says of each permission of the operator what it is for.
import assert from 'node:assert/strict';
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { parseAllDocuments } from 'yaml';
import { code, page, repository, section, tableRows } from './pages.ts';

interface Rule {
  apiGroups: string[];
  resources: string[];
  verbs: string[];
}

const folder = join(repository, 'operator/kubernetes');

/** `group resource verb`, of every rule of every role that Lyceum ships. */
async function granted(): Promise<Set<string>> {
  const files = (await readdir(folder)).filter((name) => name.endsWith('role.yaml'));
  assert.ok(files.includes('role.yaml'));
  const roles = await Promise.all(files.map((name) => readFile(join(folder, name), 'utf8')));
  const rules = roles.flatMap((text) =>
    parseAllDocuments(text).flatMap((one) => (one.toJS() as { rules: Rule[] }).rules),
  );
  return new Set(
    rules.flatMap(({ apiGroups, resources, verbs }) =>
      apiGroups.flatMap((group) =>
        resources.flatMap((resource) => verbs.map((verb) => `${group === '' ? 'core' : group} ${resource} ${verb}`)),
      ),
    ),
  );
}

test('every permission of the operator stands on the page with what it is for, and none besides', async () => {
  const rows = tableRows(section(await page('docs/security.md'), 'What the operator may do'));
  const told = rows.flatMap(([group = '', resources = '', verbs = '', reason = '']) => {
    assert.ok(reason.length > 10, `${resources}: what for?`);
    return resources
      .split(', ')
      .flatMap((resource) => verbs.split(', ').map((verb) => `${code(group)} ${code(resource)} ${verb}`));
  });
  assert.deepEqual(told.toSorted(), [...(await granted())].toSorted());
});
