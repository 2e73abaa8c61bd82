// The CustomResourceDefinitions: up to date in crds/, and made only of what Kubernetes takes.
import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { z } from 'zod';
import { structuralSchema } from '../../operator/resources/crd.ts';
import { chartFiles, crdFiles } from '../../operator/resources/crd-files.ts';

const folder = join(import.meta.dirname, '../../crds');

test('crds/ holds what the schemas say: run `make generate` after a change', () => {
  const made = crdFiles();
  assert.deepEqual(readdirSync(folder).sort(), [...made.keys()].sort());
  for (const [name, content] of made)
    assert.equal(readFileSync(join(folder, name), 'utf8'), content, `${name} is stale`);
});

test('the chart holds the same, and the Role of the operator: run `make generate` after a change', () => {
  const chart = join(folder, '../charts/lyceum');
  for (const [name, content] of chartFiles())
    assert.equal(readFileSync(join(chart, name), 'utf8'), content, `${name} is stale`);
});

test('an integer is an int64 without the bounds of JavaScript', () => {
  assert.deepEqual(structuralSchema(z.int().describe('A number.'), 'x'), {
    type: 'integer',
    description: 'A number.',
    format: 'int64',
  });
});

test('defaults within an object that is left out are filled in by the server: it has an empty default itself', () => {
  const inner = z.object({ a: z.int().default(1).describe('A.') });
  const schema = structuralSchema(inner.prefault({}).describe('All.'), 'x');
  assert.deepEqual(schema.default, {});
  assert.equal(schema.properties?.a?.default, 1);
  assert.equal(schema.required, undefined);
});

describe('what Kubernetes would refuse is not made', () => {
  const field = (schema: z.ZodType) => z.object({ field: schema }).describe('All.');
  const refused: [string, z.ZodType, RegExp][] = [
    ['one of several types', field(z.union([z.string(), z.int()]).describe('X.')), /x\.field: (anyOf|oneOf)/],
    ['anything', field(z.unknown().describe('X.')), /x\.field: a structural schema needs a type/],
    [
      'look-ahead',
      field(
        z
          .string()
          .regex(/^(?!a)/)
          .max(9)
          .describe('X.'),
      ),
      /x\.field: RE2/,
    ],
    [
      'a back reference',
      field(
        z
          .string()
          .regex(/^(a)\1$/)
          .max(9)
          .describe('X.'),
      ),
      /x\.field: RE2/,
    ],
    ['an open object', field(z.looseObject({ a: z.int().describe('A.') }).describe('X.')), /x\.field: properties and/],
    [
      'a map without a bound',
      field(z.record(z.string(), z.string().max(9)).describe('X.')),
      /x\.field: the map has no/,
    ],
    ['a text without a bound', field(z.string().describe('X.')), /x\.field: the text has no maxLength/],
    [
      'a list without a bound',
      field(z.array(z.int().describe('X.')).describe('X.')),
      /x\.field: the list has no maxItems/,
    ],
    [
      'a number or a text without a bound',
      field(z.union([z.int(), z.string()]).meta({ 'x-kubernetes-int-or-string': true }).describe('X.')),
      /x\.field: the text has no maxLength/,
    ],
    ['a field without a description', field(z.int()), /x\.field: kubectl explain has nothing to say/],
  ];
  for (const [what, schema, message] of refused) {
    test(what, () => assert.throws(() => structuralSchema(schema, 'x'), message));
  }
});
