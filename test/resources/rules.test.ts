// One table of specs, judged by the API server's CEL and by the TypeScript twins: both must say the same.
import assert from 'node:assert/strict';
import { before, describe, test } from 'node:test';
import { parseSkillGateway, parseSkillSource } from '../../operator/resources/parse.ts';
import { type ApiServer, apiServer } from '../cluster/api-server.ts';
import type { Case } from './case.ts';
import { gatewayCases, withTokens } from './gateway-cases.ts';
import { podShapeCases } from './pod-shape-cases.ts';
import { sourceCases, withCredentials } from './source-cases.ts';

interface Judgement {
  field: string;
  text: string;
}

let server: ApiServer;
let namespace: string;
before(async () => {
  server = await apiServer();
  namespace = await server.namespace();
});

/** What the API server has to say, without storing anything. */
async function serverJudges(
  kind: string,
  { name = 'sample', spec }: Case,
): Promise<{ found: Judgement[]; raw: string }> {
  const path = `/apis/lyceum.dev/v1alpha1/namespaces/${namespace}/${kind.toLowerCase()}s?dryRun=All&fieldValidation=Strict`;
  const object = { apiVersion: 'lyceum.dev/v1alpha1', kind, metadata: { name }, spec };
  const { status, body } = await server.request('POST', path, object);
  const raw = JSON.stringify(body);
  if (status === 201) return { found: [], raw };
  assert.equal(status, 422, raw);
  const { details } = body as { details: { causes: { field: string; message: string }[] } };
  const found = details.causes
    // Of no field: that a schema fault kept the server from looking at rules.
    .filter(({ field }) => field !== '<nil>')
    .map(({ field, message }) => ({ field, text: message }));
  return { found, raw };
}

function twinJudges(kind: string, { name = 'sample', spec }: Case): { found: Judgement[]; raw: string } {
  // As a manifest that was read from a file: no undefined values in it.
  const object = JSON.parse(JSON.stringify({ metadata: { name }, spec }));
  const parsed = kind === 'SkillSource' ? parseSkillSource(object) : parseSkillGateway(object);
  if (parsed.ok) return { found: [], raw: '' };
  const found = parsed.message.split(/; (?=spec|metadata)/).map((fault) => {
    const [field, ...text] = fault.split(': ');
    return { field: field!, text: text.join(': ') };
  });
  return { found, raw: parsed.message };
}

function compare(who: string, found: Judgement[], refused: NonNullable<Case['refused']>): void {
  const fields = found.map(({ field }) => field).sort();
  assert.deepEqual(fields, refused.map(({ field }) => field).sort(), `${who}: ${JSON.stringify(found)}`);
  for (const { field, remedy } of refused) {
    const said = found.filter((judgement) => judgement.field === field).map(({ text }) => text);
    if (remedy)
      assert.ok(
        said.some((text) => remedy.test(text)),
        `${who} on ${field}: ${said.join(' | ')}`,
      );
  }
}

for (const [kind, cases] of [
  ['SkillSource', sourceCases],
  ['SkillGateway', [...gatewayCases, ...podShapeCases]],
] as const) {
  describe(kind, () => {
    for (const one of cases) {
      test(`${one.what}: ${one.refused ? 'refused' : 'accepted'}`, async () => {
        compare('the API server', (await serverJudges(kind, one)).found, one.refused ?? []);
        compare('the twin', twinJudges(kind, one).found, one.refused ?? []);
      });
    }
  });
}

describe('credentials in a URL', () => {
  for (const one of withCredentials) {
    test(`${one.what}: refused, and not repeated`, async () => {
      for (const { found, raw } of [await serverJudges('SkillSource', one), twinJudges('SkillSource', one)]) {
        assert.ok(
          found.some(({ field, text }) => field === 'spec.url' && /Secret.*secretRef/.test(text)),
          raw,
        );
        assert.doesNotMatch(raw, /hunter2/);
      }
    });
  }
});

describe('credentials in a gateway', () => {
  for (const one of withTokens) {
    test(`${one.what}: refused, and not repeated`, async () => {
      for (const { found, raw } of [await serverJudges('SkillGateway', one), twinJudges('SkillGateway', one)]) {
        assert.notEqual(found.length, 0);
        // What is refused is named by its place; the object that was sent does not come back.
        assert.doesNotMatch(raw, /hunter2/);
      }
    });
  }
});

test('a URL that is too long is refused without being repeated', async () => {
  const spec = { url: `git+https://ann:hunter2@example.com/${'x'.repeat(2048)}` };
  for (const { found, raw } of [
    await serverJudges('SkillSource', { what: '', spec }),
    twinJudges('SkillSource', { what: '', spec }),
  ]) {
    assert.ok(
      found.some(({ field }) => field === 'spec.url'),
      raw,
    );
    assert.doesNotMatch(raw, /hunter2/);
  }
});

test('the defaults of the twin are those of the API server', async () => {
  for (const { spec } of [...sourceCases, ...gatewayCases, ...podShapeCases].filter(
    (one) => one.what === 'every field',
  )) {
    const kind = 'url' in (spec as object) ? 'SkillSource' : 'SkillGateway';
    for (const given of [spec, kind === 'SkillSource' ? { url: 'github://a/b' } : {}]) {
      const { raw } = await serverJudges(kind, { what: '', spec: given });
      const parse = kind === 'SkillSource' ? parseSkillSource : parseSkillGateway;
      const parsed = parse({ metadata: { name: 'sample' }, spec: given });
      assert.deepEqual(parsed.ok && parsed.spec, JSON.parse(raw).spec);
    }
  }
});
