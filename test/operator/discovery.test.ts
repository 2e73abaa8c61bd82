// A gateway whose skills are a source of another installation, by its discovery index.
import assert from 'node:assert/strict';
import { before, describe, it } from 'node:test';
import { eventually } from '../fixtures/eventually.ts';
import { OperatorFixture, skillText } from '../fixtures/operator.ts';
import { lifetime, serve } from '../server/support/gateway.ts';
import { type Harvested, serveHarvested } from '../server/support/harvested.ts';
import { call, readText } from '../server/support/mcp.ts';

const wide = {
  'skills/wide/SKILL.md':
    '---\r\nname: wide\r\ndescription: CRLF — and “quotes”.\r\nmetadata:\r\n  owner: us\r\n---\r\nText.\r\n',
  'skills/wide/references/two words, 100%.md': 'Awkward.\n',
  'skills/wide/assets/logo.bin': Buffer.from([0, 255, 13, 10]),
};

describe("another installation's gateway as a source", () => {
  const suite = lifetime();
  let publisher: Harvested;
  let operator: OperatorFixture;
  let url: string;
  before(async () => {
    publisher = await serveHarvested(suite, {
      first: { files: { ...wide, 'skills/twin/SKILL.md': skillText('twin', 'First.') } },
      second: { files: { 'skills/twin/SKILL.md': skillText('twin', 'Second.'), 'skills/twin/a.md': 'A' } },
    });
    operator = await OperatorFixture.start();
    suite.after(() => operator[Symbol.asyncDispose]());
    operator.cluster.gateway('agents', { spec: {} });
    subscribe('all', '');
    subscribe('some', '/second');
    await published('all');
    await published('some');
    await eventually('both are served', async () =>
      (await operator.index()).sources.every(({ catalogue }) => catalogue !== undefined),
    );
    const server = await serve(suite, { root: operator.volume }, { namespace: 'default' });
    url = server.url;
  });

  const subscribe = (name: string, scope: string, annotations: Record<string, string> = {}): void =>
    operator.cluster.source(name, {
      spec: { url: `${publisher.server.url}${scope}/.well-known/agent-skills/index.json`, refresh: '5s' },
      annotations,
    });
  const published = async (name: string, revision?: string) =>
    await eventually(
      `${name} is published`,
      () => [
        operator.cluster.condition('sources', name, 'Ready'),
        operator.cluster.status('sources', name)?.revision,
        operator.cluster.status('sources', name),
      ],
      ([ready, now]) => ready === 'True/Succeeded' && now !== undefined && now !== revision,
    );

  const listed = async (at: string, query = '') => {
    const { result } = (await call(at, 'skills/list', {}, { query })).body;
    return result.skills as {
      uri: string;
      frontmatter: { name: string };
      resources: { uri: string; digest: string }[];
    }[];
  };

  it('has the same skills, byte for byte, as one library', async () => {
    const [theirs, ours] = [await listed(publisher.server.url), await listed(url, '?library=all')];
    const contents = (skills: typeof theirs) =>
      skills
        .map(({ frontmatter, resources }) => JSON.stringify([frontmatter, resources.map(({ digest }) => digest)]))
        .sort();
    assert.deepEqual(contents(ours), contents(theirs));
    assert.equal(await readText(url, 'skill://all/wide'), wide['skills/wide/SKILL.md']);
    assert.equal(await readText(url, 'skill://all/wide/references/two%20words%2C%20100%25.md'), 'Awkward.\n');
    assert.deepEqual(operator.cluster.status('sources', 'all').counts, {
      skills: 3,
      prompts: 0,
      rules: 0,
      profiles: 0,
      files: 0,
      discovered: 3,
      duplicates: 0,
      rejected: 0,
      problems: 1,
    });
  });

  it('keeps both of two skills of one name that the other gateway has in two libraries', async () => {
    const uris = (await listed(url, '?library=all')).map(({ uri }) => uri);
    const twins = uris.filter((uri) => uri.endsWith('/twin/SKILL.md'));
    assert.equal(twins.length, 2);
    assert.equal(operator.cluster.status('sources', 'all').problems[0].reason, 'Moved');
  });

  it('takes one library of it where that stands in the path', async () => {
    assert.deepEqual(
      (await listed(url, '?library=some')).map(({ uri }) => uri),
      ['skill://some/twin/SKILL.md'],
    );
    assert.match((await readText(url, 'skill://some/twin'))!, /Second\./);
  });

  it('follows it by itself, and writes nothing while nothing moves there', async () => {
    const before = operator.cluster.status('sources', 'some').revision;
    const artifact = operator.cluster.status('sources', 'some').artifact.digest;
    const writes = operator.cluster.statusWrites;
    subscribe('some', '/second', { note: 'looked at' });
    await publisher.write('second', { 'skills/twin/a.md': 'B' });
    await published('some', before);
    await eventually('the edit is served', async () => (await readText(url, 'skill://some/twin/a.md')) === 'B');
    assert.notEqual(operator.cluster.status('sources', 'some').artifact.digest, artifact);
    assert.ok(operator.cluster.statusWrites > writes);
    await publisher.write('second', { 'skills/twin': undefined, 'skills/other/SKILL.md': skillText('other') });
    await eventually('what is gone there is gone here', async () => {
      const uris = (await listed(url, '?library=some')).map(({ uri }) => uri);
      return uris.length === 1 && uris[0] === 'skill://some/other/SKILL.md';
    });
  });
});

describe('a gateway that asks for tokens as a source', () => {
  it('is read with the token of a Secret, and fails without one, in no word of either', async (t) => {
    const publisher = await serveHarvested(
      t,
      { pack: { files: { 'skills/one/SKILL.md': skillText('one'), 'skills/one/a.md': 'a' } } },
      { auth: { tokens: { secretRef: { name: 'clients' } } } },
      {},
      { clients: { downstream: 'canary-token-of-sixteen' } },
    );
    await using operator = await OperatorFixture.start();
    operator.cluster.secrets.set('right', { bearerToken: 'canary-token-of-sixteen' });
    operator.cluster.secrets.set('wrong', { bearerToken: 'canary-token-of-nobody' });
    const url = `${publisher.server.url}/.well-known/agent-skills/index.json`;
    for (const name of ['right', 'wrong']) {
      operator.cluster.source(name, { spec: { url, secretRef: { name } } });
    }
    operator.cluster.source('none', { spec: { url } });
    const is = async (name: string, ready: string) =>
      await eventually(
        `${name} is ${ready}`,
        () => operator.cluster.condition('sources', name, 'Ready'),
        (now) => now === ready,
      );
    await is('right', 'True/Succeeded');
    await is('wrong', 'False/AuthenticationFailed');
    await is('none', 'False/AuthenticationFailed');
    const statuses = ['right', 'wrong', 'none'].map((name) => operator.cluster.status('sources', name));
    assert.doesNotMatch(JSON.stringify(statuses) + operator.log + (await operator.metrics()), /canary/);
  });
});
