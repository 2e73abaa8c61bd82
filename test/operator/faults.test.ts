// Whatever goes wrong upstream: its own reason, last good still served and marked stale, recovery by itself, no secret told.
import assert from 'node:assert/strict';
import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import type { ServerResponse } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { testCertificates } from '../fixtures/certificates.ts';
import { eventually } from '../fixtures/eventually.ts';
import { GitFixture } from '../fixtures/git-repository.ts';
import { type Behaviour, type GitServer, startGitServer } from '../fixtures/git-server.ts';
import { OperatorFixture, skillText } from '../fixtures/operator.ts';

const secret = 'canary-5b1c9f';
const body = 'canary-upstream-body-77aa';

let root: string;
let fixture: GitFixture;
let commit: string;

before(async () => {
  root = await mkdtemp(join(tmpdir(), 'lyceum-faults-'));
  fixture = await GitFixture.create(join(root, 'pack.git'));
  commit = await fixture.commitFiles({ 'skills/one/SKILL.md': skillText('one') });
});
after(() => rm(root, { recursive: true, force: true }));

const answer =
  (status: number, headers: Record<string, string> = {}): Behaviour =>
  (_request, response: ServerResponse) => {
    response.writeHead(status, headers).end(body);
    return true;
  };

const turnedBad: Record<string, { reason: string; turn(git: GitServer): void }> = {
  'a 401': { reason: 'AuthenticationFailed', turn: (git) => (git.behaviour = answer(401)) },
  'a 403': { reason: 'AccessDenied', turn: (git) => (git.behaviour = answer(403)) },
  'a 404': { reason: 'NotFound', turn: (git) => (git.behaviour = answer(404)) },
  'a 429': { reason: 'RateLimited', turn: (git) => (git.behaviour = answer(429)) },
  'a 500': { reason: 'UpstreamInvalid', turn: (git) => (git.behaviour = answer(500)) },
  'a login page': {
    reason: 'UpstreamInvalid',
    turn: (git) => (git.behaviour = answer(200, { 'content-type': 'text/html' })),
  },
  'a redirect to the metadata service': {
    reason: 'AddressNotAllowed',
    turn: (git) => (git.behaviour = answer(302, { location: 'http://169.254.169.254/latest/meta-data/' })),
  },
  'a server that accepts and stays silent': { reason: 'TimedOut', turn: (git) => (git.behaviour = () => true) },
  'a server that stops in the middle of a pack': {
    reason: 'TimedOut',
    turn: (git) =>
      (git.tamper = (request, bytes, response) => {
        if (request.method === 'POST' && bytes.includes('PACK')) response.write(bytes.subarray(0, bytes.length - 30));
        else response.end(bytes);
      }),
  },
  'a pack with a flipped byte': {
    reason: 'UpstreamInvalid',
    turn: (git) =>
      (git.tamper = (request, bytes, response) => {
        const at = bytes.indexOf('PACK');
        if (request.method === 'POST' && at >= 0) bytes[at + 30]! ^= 0xff;
        response.end(bytes);
      }),
  },
};

for (const [what, { reason, turn }] of Object.entries(turnedBad)) {
  test(`${what}: ${reason}, last good stays and is stale, and it recovers by itself`, async () => {
    const git = await startGitServer({ root });
    try {
      await using operator = await OperatorFixture.start();
      operator.cluster.gateway('agents');
      operator.cluster.secrets.set('token', { password: secret });
      const spec = { url: git.sourceUrl('pack.git'), refresh: '5s', secretRef: { name: 'token' } };
      operator.cluster.source('pack', { spec });
      const readyIs = (wanted: string) =>
        eventually(
          wanted,
          () => operator.cluster.condition('sources', 'pack', 'Ready'),
          (is) => is === wanted,
        );
      await readyIs('True/Succeeded');
      const artifact = operator.cluster.status('sources', 'pack').artifact;

      turn(git);
      operator.cluster.source('pack', { spec, annotations: { 'lyceum.dev/requestedAt': 'now' } });
      if (git.tamper) await moveOn();
      await readyIs(`False/${reason}`);
      assert.deepEqual(operator.cluster.status('sources', 'pack').artifact, artifact);
      const stale = async () => (await operator.index()).sources[0];
      await eventually('stale', stale, (row) => row?.state === 'stale' && row.reason === reason);
      assert.equal((await operator.read('pack', 'one')).toString(), skillText('one'));

      git.behaviour = undefined;
      git.tamper = undefined;
      await readyIs('True/Succeeded');
      await eventually('ok', stale, (row) => row?.state === 'ok');
      await nothingTold(operator);
    } finally {
      await git.close();
    }
  });
}

/** A commit whose pack the next look must fetch. */
async function moveOn(): Promise<void> {
  const readme = {
    'skills/one/SKILL.md': skillText('one'),
    'skills/new/SKILL.md': skillText('new', `At ${Date.now()}.`),
  };
  commit = await fixture.commitFiles(readme, { parent: commit });
}

async function nothingTold(operator: OperatorFixture): Promise<void> {
  const files = await readdir(operator.volume, { withFileTypes: true, recursive: true });
  const contents = await Promise.all(
    files.filter((file) => file.isFile()).map((file) => readFile(join(file.parentPath, file.name), 'latin1')),
  );
  const everywhere = {
    status: JSON.stringify(
      [...operator.cluster.sources.list(), ...operator.cluster.gateways.list()].map(({ status }) => status),
    ),
    events: JSON.stringify(operator.cluster.events),
    log: operator.log,
    metrics: await operator.metrics(),
    volume: contents.join('\n'),
  };
  for (const [where, text] of Object.entries(everywhere)) {
    assert.ok(!text.includes(secret), `the secret stands in the ${where}`);
    assert.ok(!text.includes(Buffer.from(`git:${secret}`).toString('base64')), `the credential stands in the ${where}`);
    assert.ok(!text.includes(body), `what upstream sent stands in the ${where}`);
  }
}

test('a missing Secret and a missing key are SecretNotFound by name, and mended once they are there', async () => {
  const authorization = `Basic ${Buffer.from(`git:${secret}`).toString('base64')}`;
  const git = await startGitServer({ root, authorization });
  try {
    await using operator = await OperatorFixture.start();
    operator.cluster.source('pack', { spec: { url: git.sourceUrl('pack.git'), secretRef: { name: 'token' } } });
    const ready = () => operator.cluster.condition('sources', 'pack', 'Ready');
    const message = () => operator.cluster.status('sources', 'pack').conditions[0].message;
    await eventually('SecretNotFound', ready, (is) => is === 'False/SecretNotFound');
    assert.match(message(), /"token"/);
    operator.cluster.secrets.set('token', { username: 'git' });
    await eventually('the missing key', message, (text) => /password/.test(text));
    assert.equal(ready(), 'False/SecretNotFound');
    operator.cluster.secrets.set('token', { password: 'wrong' });
    await eventually('AuthenticationFailed', ready, (is) => is === 'False/AuthenticationFailed');
    operator.cluster.secrets.set('token', { password: secret });
    await eventually('Ready', ready, (is) => is === 'True/Succeeded');
    await nothingTold(operator);
  } finally {
    await git.close();
  }
});

test('a certificate that nobody vouches for is TLSFailed; ca.crt in the Secret mends it', async () => {
  const { key, cert, ca } = await testCertificates();
  const git = await startGitServer({ root, tls: { key, cert } });
  try {
    await using operator = await OperatorFixture.start();
    operator.cluster.source('pack', { spec: { url: git.sourceUrl('pack.git') } });
    const ready = () => operator.cluster.condition('sources', 'pack', 'Ready');
    await eventually('TLSFailed', ready, (is) => is === 'False/TLSFailed');
    assert.match(operator.cluster.status('sources', 'pack').conditions[0].message, /ca\.crt/);
    operator.cluster.secrets.set('authority', { 'ca.crt': ca.toString() });
    operator.cluster.source('pack', { spec: { url: git.sourceUrl('pack.git'), secretRef: { name: 'authority' } } });
    await eventually('Ready', ready, (is) => is === 'True/Succeeded');
  } finally {
    await git.close();
  }
});

test('an unknown ref and a commit that is not there are NotFound, never an empty pack', async () => {
  const git = await startGitServer({ root });
  try {
    await using operator = await OperatorFixture.start();
    for (const [name, ref] of [
      ['branch', 'nowhere'],
      ['pin', '1'.repeat(40)],
    ] as const) {
      operator.cluster.source(name, { spec: { url: git.sourceUrl('pack.git'), ref } });
      await eventually(
        name,
        () => operator.cluster.condition('sources', name, 'Ready'),
        (is) => is === 'False/NotFound',
      );
      assert.equal(operator.cluster.status('sources', name).artifact, undefined);
    }
  } finally {
    await git.close();
  }
});

test('a passed limit says the number and the field that raises it, and waits for the next refresh', async () => {
  const git = await startGitServer({ root });
  try {
    await using operator = await OperatorFixture.start();
    operator.cluster.source('pack', { spec: { url: git.sourceUrl('pack.git'), limits: { totalSize: '10' } } });
    await eventually(
      'LimitExceeded',
      () => operator.cluster.condition('sources', 'pack', 'Ready'),
      (is) => is === 'False/LimitExceeded',
    );
    const { message } = operator.cluster.status('sources', 'pack').conditions[0];
    assert.match(message, /10\b/);
    assert.match(message, /spec\.limits\.totalSize/);
    assert.equal(operator.cluster.condition('sources', 'pack', 'Reconciling'), undefined);
  } finally {
    await git.close();
  }
});

test('a server that goes on and on, a byte at a time, ends with spec.timeout', async () => {
  const drips: Behaviour = (_, response) => {
    response.writeHead(200, { 'content-type': 'application/x-git-upload-pack-advertisement' });
    const timer = setInterval(() => response.write('0'), 100);
    response.on('close', () => clearInterval(timer));
    return true;
  };
  const git = await startGitServer({ root, behaviour: drips });
  try {
    await using operator = await OperatorFixture.start();
    operator.cluster.source('pack', { spec: { url: git.sourceUrl('pack.git'), timeout: '5s' } });
    await eventually(
      'TimedOut',
      () => operator.cluster.condition('sources', 'pack', 'Ready'),
      (is) => is === 'False/TimedOut',
      30,
    );
    assert.match(operator.cluster.status('sources', 'pack').conditions[0].message, /spec\.timeout \(5s\)/);
  } finally {
    await git.close();
  }
});

test('a file:/// source is refused where the operator has no file root', async () => {
  await using operator = await OperatorFixture.start();
  operator.cluster.source('disk', { spec: { url: 'file:///etc' } });
  await eventually(
    'Stalled',
    () => operator.cluster.condition('sources', 'disk', 'Stalled'),
    (is) => is === 'True/FileRootNotAllowed',
  );
});
