// Specs of SkillGateways, good and bad.
import { type Case, library, objectName, on, oneWord, words } from './case.ts';

const notBoth = /selector or names, not both/;
const values = /In and NotIn need at least one value; Exists and DoesNotExist take none/;
const labels = /as Kubernetes has/;

const select = (selector: unknown) => ({ sources: { selector } });
const requirement = (key: string, operator: string, list?: string[]) =>
  select({ matchExpressions: [{ key, operator, ...(list ? { values: list } : {}) }] });

export const gatewayCases: Case[] = [
  { what: 'nothing: everything is served', spec: {} },
  { what: 'no spec', spec: undefined },
  {
    what: 'every field',
    spec: {
      sources: {
        selector: {
          matchLabels: { team: 'platform', 'example.com/stage': '', 'a.b/C_d.e-f': 'X-1_y.z' },
          matchExpressions: [
            { key: 'tier', operator: 'In', values: ['a', 'b'] },
            { key: 'example.com/tier', operator: 'NotIn', values: [''] },
            { key: 'x', operator: 'Exists' },
            { key: 'y', operator: 'DoesNotExist', values: [] },
          ],
        },
      },
      libraries: [
        { name: 'grafana', title: 'Grafana', description: 'Dashboards and queries.', tags: ['ops'] },
        { name: 'loki' },
      ],
      scope: { library: 'grafana', tags: ['ops'] },
      reindex: 'Anyone',
      instructions: 'Read skill://grafana first.',
    },
  },
  { what: 'sources by name', spec: { sources: { names: ['superpowers', 'acme.skills'] } } },
  { what: 'an empty selector', spec: select({}) },
  {
    what: 'selector and names',
    spec: { sources: { selector: {}, names: ['a'] } },
    refused: on('spec.sources', notBoth),
  },
  {
    what: 'a source in capitals',
    spec: { sources: { names: ['a', 'Bad'] } },
    refused: on('spec.sources.names[1]', objectName),
  },
  {
    what: 'an unknown operator',
    spec: requirement('a', 'Like', ['b']),
    refused: on('spec.sources.selector.matchExpressions[0].operator'),
  },
  {
    what: 'In without values',
    spec: requirement('a', 'In'),
    refused: on('spec.sources.selector.matchExpressions[0].values', values),
  },
  {
    what: 'NotIn with an empty list',
    spec: requirement('a', 'NotIn', []),
    refused: on('spec.sources.selector.matchExpressions[0].values', values),
  },
  {
    what: 'Exists with values',
    spec: requirement('a', 'Exists', ['b']),
    refused: on('spec.sources.selector.matchExpressions[0].values', values),
  },
  {
    what: 'a label key with a blank',
    spec: requirement('a b', 'Exists'),
    refused: on('spec.sources.selector.matchExpressions[0].key', labels),
  },
  {
    what: 'a label value with a blank',
    spec: requirement('a', 'In', ['b c']),
    refused: on('spec.sources.selector.matchExpressions[0].values[0]', labels),
  },
  {
    what: 'a label key with two slashes',
    spec: select({ matchLabels: { 'a/b/c': 'd' } }),
    refused: on('spec.sources.selector.matchLabels', labels),
  },
  {
    what: 'a label key of 64 characters',
    spec: select({ matchLabels: { [words(64)]: 'd' } }),
    refused: on('spec.sources.selector.matchLabels', labels),
  },
  {
    what: 'a label value that ends with a dot',
    spec: select({ matchLabels: { a: 'b.' } }),
    refused: on('spec.sources.selector.matchLabels', labels),
  },
  {
    what: 'a label value of 64 characters',
    spec: select({ matchLabels: { a: words(64) } }),
    refused: on('spec.sources.selector.matchLabels.a'),
  },
  {
    what: 'a label value that is a number',
    spec: select({ matchLabels: { a: 1 } }),
    refused: on('spec.sources.selector.matchLabels.a'),
  },
  {
    what: 'one library twice',
    spec: { libraries: [{ name: 'a' }, { name: 'b' }, { name: 'a' }] },
    refused: on('spec.libraries', /stands here once/),
  },
  { what: 'a library without a name', spec: { libraries: [{ title: 'A' }] }, refused: on('spec.libraries[0].name') },
  {
    what: 'a library in capitals',
    spec: { libraries: [{ name: 'A' }] },
    refused: on('spec.libraries[0].name', library),
  },
  {
    what: 'two library tags in one',
    spec: { libraries: [{ name: 'a', tags: ['x', 'a,b'] }] },
    refused: on('spec.libraries[0].tags[1]', oneWord),
  },
  {
    what: 'a title that is too long',
    spec: { libraries: [{ name: 'a', title: words(129) }] },
    refused: on('spec.libraries[0].title'),
  },
  {
    what: 'too many libraries',
    spec: { libraries: Array.from({ length: 257 }, (_, n) => ({ name: `l${n}` })) },
    refused: on('spec.libraries'),
  },
  {
    what: 'as many libraries as there may be',
    spec: { libraries: Array.from({ length: 256 }, (_, n) => ({ name: `l${n}` })) },
  },
  {
    what: 'a scope that is no library',
    spec: { scope: { library: 'a b' } },
    refused: on('spec.scope.library', library),
  },
  { what: 'reindex for nobody', spec: { reindex: 'Nobody' }, refused: on('spec.reindex') },
  { what: 'two scope tags in one', spec: { scope: { tags: ['a,b'] } }, refused: on('spec.scope.tags[0]', oneWord) },
  { what: 'instructions that are too long', spec: { instructions: words(4097) }, refused: on('spec.instructions') },
];
