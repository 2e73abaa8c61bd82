// Ceilings, of a gateway, of a token and of both: no method, tool, file or archive shows what lies above one, whatever a
// request says of its scope, and what is hidden looks like what is not there.
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { ScopeSetting } from '../../catalogue/index-file.ts';
import { tools } from '../../server/answers/tools.ts';
import { methods } from '../../server/mcp/methods.ts';
import { type CatalogueFixture, type SkillFixture, type SourceFixture, serveCatalogue } from './support/gateway.ts';
import { call } from './support/mcp.ts';
import { spoken } from './support/raw.ts';

/** Stands in every text that is hidden; and every name that is hidden has `hidden` in it. */
const canary = 'CANARY';

const hiddenFrom = (name: string, library: string, group: string, ...more: SkillFixture[]): SourceFixture => ({
  name,
  library,
  tags: ['private', 'hidden-tag'],
  skills: [
    { address: 'hidden-skill', description: canary, group, files: { 'hidden dir/hidden.txt': canary } },
    { address: 'hidden-other', description: canary, group: 'hidden-group' },
    ...more,
  ],
  prompts: [
    {
      address: 'hidden-ask',
      description: canary,
      arguments: [{ name: 'what', required: false, default: canary }],
      text: `${canary} {{ what }}`,
    },
  ],
  rules: [{ address: 'hidden-tone', description: canary, files: { 'hidden.txt': canary } }],
  profiles: [{ address: 'hidden-scribe', description: canary, files: { 'hidden.txt': canary } }],
  files: { 'hidden.md': canary, 'hidden dir/hidden.md': canary },
});

/** Of this only the first source is to be seen. */
const catalogue: CatalogueFixture = {
  libraries: [{ name: 'hidden-lib', title: canary, description: canary }],
  sources: [
    {
      name: 'minutes',
      library: 'notes',
      tags: ['public'],
      skills: [{ address: 'minutes', description: 'Write minutes.', group: 'writing', files: { 'a b.txt': 'A' } }],
      prompts: [{ address: 'ask', text: 'Ask.' }],
      rules: [{ address: 'tone' }],
      profiles: [{ address: 'scribe' }],
      files: { 'public.md': 'public' },
    },
    hiddenFrom('hidden-a', 'notes', 'writing'),
    hiddenFrom('hidden-b', 'hidden-lib', 'writing', {
      address: 'hidden-one',
      description: canary,
      files: { 'hidden dir/hidden.txt': canary },
    }),
  ],
};

interface Ask {
  what: string;
  /** The bytes of the answer's body, as text, and its status. */
  answer(url: string, request: Tricked): Promise<{ status: number; body: string }>;
  /** What is sent, which an error may repeat. */
  sent: string[];
  /** False: the answer is the same for everybody. */
  reveals: boolean;
  /** The same for something that is not there. */
  absent?: Ask;
}

interface Tricked {
  query: string;
  headers: Record<string, string>;
  era: 'modern' | 'legacy';
}

function mcp(method: string, params: Record<string, unknown> = {}, reveals = true): Ask {
  const sent = repeatable(params);
  const own: Ask = {
    what: `${method} ${JSON.stringify(params)}`,
    async answer(url, request) {
      const { status, body } = await call(url, method, params, { ...request, twice: true });
      return { status, body: JSON.stringify(body) };
    },
    sent,
    reveals,
  };
  return JSON.stringify(params).includes('hidden')
    ? { ...own, absent: mcp(method, JSON.parse(JSON.stringify(params).replaceAll('hidden', 'absent')), reveals) }
    : own;
}

/** Addresses and names alone: what a request says besides is no excuse for an answer that has it. */
const repeatable = ({ uri, name, arguments: args, ref }: Record<string, unknown>): string[] =>
  [uri, name, ref, args].flatMap((value) =>
    typeof value === 'object' && value !== null ? repeatable(value as Record<string, unknown>) : (value ?? []),
  ) as string[];

/** A path as it stands in the request, which no client mends. */
function http(path: string, reveals = true): Ask {
  const own: Ask = {
    what: `GET ${path}`,
    async answer(url, { query, headers }) {
      const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}`);
      const head = [`GET ${path}${query} HTTP/1.1`, 'Host: localhost', 'Connection: close', ...lines, '\r\n'];
      return await spoken(url, head.join('\r\n'));
    },
    sent: [path],
    reveals,
  };
  return path.includes('hidden') ? { ...own, absent: http(path.replaceAll('hidden', 'absent'), reveals) } : own;
}

const skills = ['skill://hidden-lib/hidden-skill', 'skill://notes/hidden-skill', 'skill://notes/hidden-other'];
const addresses = [
  'skill://hidden-lib',
  'skill://hidden-lib/_files',
  'skill://hidden-lib/hidden.md',
  'skill://hidden-group',
  'skill://notes/hidden.md',
  'skill://notes/hidden%20dir/hidden.md',
  ...skills.flatMap((uri) => [uri, `${uri}/SKILL.md`, `${uri}/_manifest`]),
  'skill://notes/hidden-skill/hidden%20dir/hidden.txt',
  'skill://notes/hidden-skill/hidden dir/hidden.txt',
  ...['hidden-lib', 'notes'].flatMap((library) =>
    ['_rules/hidden-tone', '_profiles/hidden-scribe'].flatMap((place) => [
      `skill://${library}/${place}`,
      `skill://${library}/${place}/_manifest`,
      `skill://${library}/${place}/hidden.txt`,
    ]),
  ),
];
/** They lead nowhere, for anybody. */
const crooked = [
  'skill://notes/../hidden-lib/hidden-skill',
  'skill://notes/%2e%2e/hidden-lib/hidden-skill',
  'skill://notes/minutes/../hidden-skill/SKILL.md',
  'skill://notes/minutes/%2e%2e/hidden-skill/SKILL.md',
  'skill://notes/minutes/..%2fhidden-skill%2fSKILL.md',
  'skill://notes/./hidden-skill',
  'skill://notes//hidden-skill',
  'skill://notes/minutes/hidden-skill',
  'skill://notes@hidden-lib/hidden-skill',
  'skill://%68idden-lib/%68idden-skill',
  'SKILL://hidden-lib/hidden-skill',
  'skill://hidden-lib/hidden-skill?library=hidden-lib',
];
const templates = ['skill://{library}', 'skill://{library}/{skill}', 'skill://{library}/{skill}/{+path}'];
const complete = (uri: string, name: string, filled: Record<string, string> = {}) =>
  mcp('completion/complete', {
    ref: { type: 'ref/resource', uri },
    argument: { name, value: name === 'path' ? '' : 'h' },
    context: { arguments: filled },
  });
const tool = (name: string, args: Record<string, unknown> = {}) => mcp('tools/call', { name, arguments: args });

/** One of each. */
const someAsks: Ask[] = [
  mcp('resources/list'),
  mcp('resources/templates/list', {}, false),
  mcp('resources/read', { uri: 'skill://notes/hidden-skill' }),
  mcp('resources/read', { uri: 'skill://hidden-lib/hidden.md' }),
  mcp('resources/read', { uri: 'skill://index.json' }),
  mcp('resources/read', { uri: 'skill://notes' }),
  mcp('resources/read', { uri: 'skill://writing' }),
  ...['_files', '_rules', '_profiles'].map((place) => mcp('resources/read', { uri: `skill://notes/${place}` })),
  mcp('skills/list'),
  mcp('skills/get', { uri: 'skill://notes/hidden-skill/SKILL.md' }),
  ...['skill://notes', 'skill://hidden-lib', 'skill://notes/hidden-skill', 'skill://notes/hidden%20dir'].map((uri) =>
    mcp('resources/directory/read', { uri }),
  ),
  mcp('prompts/list'),
  mcp('prompts/get', { name: 'notes_hidden-ask' }),
  mcp('prompts/get', { name: 'hidden-lib_hidden-ask' }),
  complete(templates[0]!, 'library'),
  complete(templates[1]!, 'library'),
  complete(templates[1]!, 'skill', { library: 'notes' }),
  complete(templates[1]!, 'skill', { library: 'hidden-lib' }),
  complete(templates[2]!, 'path', { library: 'notes', skill: 'hidden-skill' }),
  mcp('completion/complete', {
    ref: { type: 'ref/prompt', name: 'notes_hidden-ask' },
    argument: { name: 'what', value: '' },
  }),
  mcp('tools/list', {}, false),
  tool('list_resources'),
  tool('list_prompts'),
  tool('read_resource', { uri: 'skill://notes/hidden-skill' }),
  tool('get_prompt', { name: 'notes_hidden-ask' }),
  tool('get_prompt', { name: 'hidden-lib_hidden-ask', arguments: { what: 'x' } }),
];

const asks: Ask[] = [
  ...someAsks,
  ...addresses.map((uri) => mcp('resources/read', { uri })),
  ...crooked.map((uri) => mcp('resources/read', { uri }, false)),
  ...skills.map((uri) => mcp('skills/get', { uri: `${uri}/SKILL.md` })),
  ...crooked.map((uri) => mcp('skills/get', { uri: `${uri}/SKILL.md` }, false)),
  ...addresses.map((uri) => tool('read_resource', { uri })),
  ...crooked.map((uri) => ({ ...tool('read_resource', { uri }), reveals: false })),
];

const folder = '/.well-known/agent-skills';
const pages: Ask[] = [
  ...['', '/notes', '/hidden-lib'].map((library) => http(`${library}${folder}/index.json`)),
  http(`${folder}/hidden-one.zip`),
  http(`${folder}/hidden-one/SKILL.md`),
  http(`${folder}/hidden-one/hidden%20dir/hidden.txt`),
  http(`/hidden-lib${folder}/hidden-one.zip`),
  http(`/hidden-lib${folder}/hidden-one/SKILL.md`),
  http(`/hidden-lib${folder}/hidden-skill/SKILL.md`),
  http(`/%68idden-lib${folder}/hidden-one/SKILL.md`),
];
const crookedPages: Ask[] = [
  `/notes/../hidden-lib${folder}/hidden-one/SKILL.md`,
  `/notes/%2e%2e/hidden-lib${folder}/hidden-one/SKILL.md`,
  `/notes%2f..%2fhidden-lib${folder}/hidden-one/SKILL.md`,
  `/hidden-lib%00${folder}/index.json`,
  `${folder}/minutes/../hidden-one/SKILL.md`,
  `${folder}/minutes/%2e%2e/hidden-one/SKILL.md`,
  `${folder}/minutes%2f..%2fhidden-one/SKILL.md`,
  `${folder}/../agent-skills/hidden-one/SKILL.md`,
  `${folder}//hidden-one/SKILL.md`,
  `${folder}/%68idden-one/%53KILL.md`,
  `${folder}/hidden-lib/hidden-one/SKILL.md`,
  `http://localhost${folder}/hidden-one/SKILL.md`,
].map((path) => http(path, false));

/** Who sees the public part of `notes` and no more, each another way. */
const ceilings: [what: string, gateway: ScopeSetting, token: ScopeSetting | undefined][] = [
  ['a gateway', { library: 'notes', tags: ['public'] }, undefined],
  ['a token', {}, { library: 'notes', tags: ['public'] }],
  ['a gateway and a token that are alike', { tags: ['public'] }, { library: 'notes', tags: ['public'] }],
  ['a gateway for the library, a token for the tags', { library: 'notes' }, { tags: ['public', 'elsewhere'] }],
  ['a gateway for the tags, a token for the group', { tags: ['public'] }, { library: 'writing' }],
];

/** What a request may try in order to see more. */
const tricks: Omit<Tricked, 'era'>[] = [
  { query: '', headers: {} },
  { query: '?library=hidden-lib', headers: {} },
  { query: '?tags=private', headers: {} },
  { query: '?tags=skill,prompt,rule,profile,public,private', headers: {} },
  { query: '?library=hidden-group', headers: {} },
  { query: '?library=writing', headers: {} },
  { query: '?library=notes&library=hidden-lib', headers: {} },
  { query: '?library=hidden-lib&library=', headers: {} },
  { query: '?library=%68idden-lib', headers: {} },
  { query: '?library[]=hidden-lib&library=*', headers: {} },
  { query: '?library=notes%2f..%2fhidden-lib', headers: {} },
  { query: '?tags=public&tags=hidden-tag', headers: {} },
  { query: '?library=__proto__&tags=constructor', headers: {} },
  { query: '?skills=full&resources=off&prompts=off&artifacts=on', headers: {} },
  { query: '?skills=full&tags=,', headers: { 'X-Skill-Listing': 'full' } },
  { query: '?library=notes', headers: { 'X-Skill-Library': 'hidden-lib' } },
  { query: '?library=hidden-lib', headers: { 'X-Skill-Library': 'notes' } },
  { query: '?library=hidden-lib', headers: { 'X-Skill-Library': ' ' } },
  { query: '?tags=private', headers: { 'X-Skill-Tags': 'public' } },
  { query: '', headers: { 'X-Skill-Tags': 'private' } },
  { query: '', headers: { 'X-Skill-Library': 'notes, hidden-lib' } },
  { query: '', headers: { 'X-Skill-Pack': 'hidden-lib', 'X-Skill-Library': '' } },
  {
    query: '',
    headers: { 'X-Forwarded-User': 'wide', 'X-Client': 'wide', 'X-Original-URL': '/mcp?library=hidden-lib' },
  },
  { query: '?client=wide&token=wide-0123456789abcdef', headers: {} },
];

const narrow = 'narrow-0123456789abcdef';
const wide = 'wide-0123456789abcdef';

const bearer = (token: string) => ({ Authorization: `Bearer ${token}` });
const without = (sent: readonly string[], body: string): string => {
  const texts = sent.flatMap((text) => [
    text,
    JSON.stringify(text).slice(1, -1),
    JSON.stringify(JSON.stringify(text)).slice(3, -3),
  ]);
  return texts.sort((a, b) => b.length - a.length).reduce((rest, text) => rest.replaceAll(text, ''), body);
};

it('every method and every tool is asked', () => {
  const asked = asks.map(({ what }) => what.split(' ')[0]);
  for (const { name } of methods) assert.ok(asked.includes(name), `add to the asks: ${name}`);
  for (const { name } of tools) {
    assert.ok(
      asks.some(({ what }) => what.startsWith('tools/call') && what.includes(`"${name}"`)),
      `add to the asks: the tool ${name}`,
    );
  }
});

it('each ask shows what is hidden to who may see it', async (test) => {
  const { url } = await serveCatalogue(test, catalogue);
  for (const { what, answer, sent, reveals } of [...asks, ...pages]) {
    for (const era of ['modern', 'legacy'] as const) {
      const { body } = await answer(url, { query: '?skills=full', headers: {}, era });
      assert.equal(/CANARY|hidden/.test(without(sent, body)), reveals, `${what}: ${body}`);
    }
  }
});

for (const [what, gateway, token] of ceilings) {
  describe(`under the ceiling of ${what}`, () => {
    const fixture: CatalogueFixture = {
      ...catalogue,
      scope: gateway,
      ...(token === undefined ? {} : { auth: { tokens: { narrow, wide }, scopes: [{ client: 'narrow', ...token }] } }),
    };
    const own = token === undefined ? {} : bearer(narrow);

    it('what is below it is served', async (test) => {
      const { url } = await serveCatalogue(test, fixture);
      const said = async (method: string, params = {}) =>
        JSON.stringify((await call(url, method, params, { headers: own })).body);
      assert.match(await said('resources/list'), /skill:\/\/notes/);
      assert.match(await said('resources/read', { uri: 'skill://notes/minutes' }), /Instructions of minutes/);
      assert.match(await said('resources/read', { uri: 'skill://notes/public.md' }), /"text":"public"/);
      assert.match(await said('prompts/list'), /notes_ask/);
    });

    it('nothing that a request says shows what is above it', async (test) => {
      const { url } = await serveCatalogue(test, fixture);
      for (const [at, trick] of tricks.entries()) {
        const request: Tricked = { ...trick, headers: { ...trick.headers, ...own }, era: at % 2 ? 'modern' : 'legacy' };
        for (const { what: ask, answer, sent } of at === 0
          ? [...asks, ...pages, ...crookedPages]
          : [...someAsks, ...pages]) {
          const { body } = await answer(url, request);
          const rest = without(sent, body);
          assert.ok(
            !rest.includes(canary) && !rest.includes('hidden'),
            `${ask} with ${JSON.stringify(trick)}: ${body}`,
          );
        }
      }
    });

    it('what is above it looks like what is not there', async (test) => {
      const { url } = await serveCatalogue(test, fixture);
      for (const { what: ask, answer, absent } of [...asks, ...pages]) {
        if (absent === undefined) continue;
        for (const era of ['modern', 'legacy'] as const) {
          const request: Tricked = { query: '', headers: own, era };
          const there = await answer(url, request);
          const not = await absent.answer(url, request);
          assert.equal(there.status, not.status, ask);
          assert.equal(there.body, not.body.replaceAll('absent', 'hidden'), ask);
        }
      }
    });
  });
}
