// Git servers that are locked, private, or have moved.
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { SourceFault } from '../../operator/reasons.ts';
import { testCertificates } from '../fixtures/certificates.ts';
import { type LookOptions, look } from '../fixtures/git-look.ts';
import { type GitServer, redirectsBelow, startGitServer } from '../fixtures/git-server.ts';
import { fault, type GitServerKind, gitServerKinds, gitSuite, pack } from '../fixtures/git-suite.ts';

/** What a first look asks for, once it is where the repository is. */
const get = 'GET /info/refs?service=git-upload-pack';
const post = 'POST /git-upload-pack';
const requests: Record<GitServerKind, string[]> = {
  'with partial clone': [get, post, post, post],
  'of version 2 without filter': [get, post, get, post],
  'of version 0': [get, post],
};

for (const kind of gitServerKinds) {
  describe(`a git server ${kind}`, () => {
    const suite = gitSuite(kind);
    const versionZero = kind === 'of version 0';

    describe('credentials', () => {
      const secret = { username: 'ada', password: 'canary' };
      const authorization = `Basic ${Buffer.from('ada:canary').toString('base64')}`;
      let locked: GitServer;
      before(async () => {
        locked = await startGitServer({ root: suite.root, authorization, versionZero });
      });
      after(() => locked.close());

      test('open what is locked; without or with wrong ones it is AuthenticationFailed, and none is repeated', async () => {
        const { repo, name } = await suite.repository();
        await repo.commitFiles(pack);
        const url = locked.sourceUrl(name);
        assert.equal((await look(url, { secret })).files.size, 6);
        const wrongs: Record<string, string>[] = [{}, { password: 'canary' }, { bearerToken: 'canary' }];
        for (const wrong of wrongs) {
          await assert.rejects(look(url, { secret: wrong }), (error) => {
            fault('AuthenticationFailed', /spec\.secretRef/)(error);
            assert.doesNotMatch((error as Error).message, /canary/);
            return true;
          });
        }
      });

      test('open a named branch, a tag and a commit as they open the default branch', async () => {
        const { repo, name } = await suite.repository();
        const commit = await repo.commitFiles({ a: 'locked' }, { reference: 'refs/heads/team' });
        await repo.reference('refs/tags/v1', commit);
        for (const ref of ['team', 'v1', commit]) {
          assert.equal((await look(locked.sourceUrl(name), { ref, secret })).files.get('a')?.toString(), 'locked');
          await assert.rejects(look(locked.sourceUrl(name), { ref }), fault('AuthenticationFailed'));
        }
      });

      test('that a Secret lacks are SecretNotFound, and a URL that cannot be is InvalidSpec', async () => {
        const rejected = (url: string, options: LookOptions, reason: string, message: RegExp) =>
          assert.rejects(look(url, options), (error) => {
            assert(error instanceof SourceFault);
            assert.equal(error.reason, reason);
            assert.match(error.message, message);
            return true;
          });
        await rejected(
          suite.server.sourceUrl('x.git'),
          { secret: { username: 'ada' } },
          'SecretNotFound',
          /lacks password/,
        );
        await rejected('git+https://ada:pw@git.example.org/x', {}, 'InvalidSpec', /spec\.secretRef/);
      });

      test('are not sent to where a repository moved on another origin', async () => {
        const { repo, name } = await suite.repository();
        await repo.commitFiles(pack);
        const moved = await startGitServer({
          root: suite.root,
          behaviour: redirectsBelow(() => `${suite.server.origin}/${name}`),
        });
        try {
          await look(moved.sourceUrl('old.git'), { secret });
        } finally {
          await moved.close();
        }
        assert.deepEqual(
          moved.exchanges.map(({ headers }) => headers.authorization),
          [authorization],
        );
        assert.deepEqual(
          new Set(suite.server.exchanges.map(({ headers }) => headers.authorization)),
          new Set([undefined]),
        );
      });
    });

    for (const status of [301, 302, 307, 308]) {
      test(`a repository that was renamed (${status}) is read from its new place`, async () => {
        const { repo, name, url } = await suite.repository();
        await repo.commitFiles(pack);
        suite.server.behaviour = (request, response) =>
          request.url!.startsWith('/old.git') &&
          redirectsBelow(() => `${suite.server.origin}/${name}`, status)(request, response);
        try {
          assert.equal((await look(url.replace(name, 'old.git'))).files.size, 6);
        } finally {
          suite.server.behaviour = undefined;
        }
        assert.deepEqual(
          suite.server.exchanges.map(({ method, path }) => `${method} ${path}`),
          [
            'GET /old.git/info/refs?service=git-upload-pack',
            ...requests[kind].map((request) => request.replace('/', `/${name}/`)),
          ],
        );
      });
    }

    test('a server whose certificate a private authority signed is read with ca.crt, and TLSFailed without', async () => {
      const { repo, name } = await suite.repository();
      await repo.commitFiles(pack);
      const { ca, key, cert } = await testCertificates();
      const tls = await startGitServer({ root: suite.root, tls: { key, cert }, versionZero });
      try {
        assert.equal((await look(tls.sourceUrl(name), { secret: { 'ca.crt': ca } })).files.size, 6);
        await assert.rejects(look(tls.sourceUrl(name)), fault('TLSFailed', /ca\.crt/));
      } finally {
        await tls.close();
      }
    });
  });
}
