// Manifests in the docs are ones that Kubernetes and `lyceum run` take.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { parseAllDocuments } from 'yaml';
import { admit } from '../../cli/run/admission.ts';
import { parseSkillGateway, parseSkillSource } from '../../operator/resources/parse.ts';
import { codeBlocks, pages } from './pages.ts';

interface Manifest {
  at: string;
  value: { kind?: string; metadata: { name: string }; spec?: unknown };
}

const manifests: Manifest[] = (await pages()).flatMap((page) =>
  codeBlocks(page)
    .filter(({ language }) => language === 'yaml')
    .flatMap(({ text, line }) =>
      parseAllDocuments(text).map((document) => {
        assert.deepEqual(document.errors, [], `${page.path}:${line}`);
        return { at: `${page.path}:${line}`, value: document.toJS() };
      }),
    )
    .filter(({ value }) => value !== null && typeof value === 'object' && 'apiVersion' in value),
);

test('the docs show SkillSources and SkillGateways', () => {
  const shown = manifests.map(({ value }) => value.kind);
  for (const kind of ['SkillSource', 'SkillGateway']) assert.ok(shown.includes(kind), `no ${kind} in the docs`);
});

for (const { at, value } of manifests) {
  test(`the ${value.kind} at ${at} is valid and has no unknown field`, () => {
    if (value.kind === 'SkillSource') assertParsed(parseSkillSource(value));
    if (value.kind === 'SkillGateway') assertParsed(parseSkillGateway(value));
    const admission = admit({ file: at, line: 1, value });
    if (admission !== undefined) assert.ok(admission.ok, admission.ok ? '' : admission.message);
  });
}

function assertParsed(parsed: { ok: true } | { ok: false; message: string }): void {
  assert.ok(parsed.ok, parsed.ok ? '' : parsed.message);
}
