// How a webhook proves that its sender knows the token: the providers' own examples, and what must not pass.
import assert from 'node:assert/strict';
import { createHmac } from 'node:crypto';
import { describe, test } from 'node:test';
import type { WebhookProvider } from '../../operator/resources/skill-source.ts';
import { proofOf, type SentHeaders } from '../../operator/webhooks/proof.ts';

/** @param body in pieces, as they come */
function holds(provider: WebhookProvider, token: string, headers: SentHeaders, ...body: (string | Buffer)[]): boolean {
  const proof = proofOf(provider, Buffer.from(token), headers);
  for (const piece of body) proof.update(Buffer.from(piece));
  return proof.holds();
}

const hex = (token: string, body: string): string => createHmac('sha256', token).update(body).digest('hex');

/** From GitHub's page on validating webhook deliveries. */
const example = {
  token: "It's a Secret to Everybody",
  body: 'Hello, World!',
  digest: '757107ea0eb2509fc211221cce984b8a37570b6d7586c22c46f4379c8b043e17',
};

describe('GitHub', () => {
  const { token, body, digest } = example;
  const signed = (value: string, ...more: string[]): SentHeaders => ({ 'x-hub-signature-256': [value, ...more] });

  test("GitHub's own example passes, whole and in pieces", () => {
    assert.equal(holds('GitHub', token, signed(`sha256=${digest}`), body), true);
    assert.equal(holds('GitHub', token, signed(`sha256=${digest}`), 'Hel', 'lo, ', '', 'World!'), true);
  });

  test('digits in upper case are the same number', () => {
    assert.equal(holds('GitHub', token, signed(`sha256=${digest.toUpperCase()}`), body), true);
  });

  const wrong: Record<string, SentHeaders> = {
    'no signature': {},
    'an empty one': signed(''),
    'one without its algorithm': signed(digest),
    'another algorithm': signed(`sha1=${digest}`),
    'one that is cut off': signed(`sha256=${digest.slice(0, -1)}`),
    'half of one': signed(`sha256=${digest.slice(0, 32)}`),
    'one with more behind it': signed(`sha256=${digest}0`),
    'one with a line break behind it': signed(`sha256=${digest}\n`),
    'one digit that is wrong': signed(`sha256=${digest.slice(0, -1)}8`),
    'letters that are no digits': signed(`sha256=${'g'.repeat(64)}`),
    'the right one, twice': signed(`sha256=${digest}`, `sha256=${digest}`),
    'the right one beside a wrong one': signed(`sha256=${'0'.repeat(64)}`, `sha256=${digest}`),
    'the two in one': signed(`sha256=${digest}, sha256=${digest}`),
    'the token itself': { authorization: [`Bearer ${token}`], 'x-gitlab-token': [token] },
    'the headers of other providers': { 'x-gitea-signature': [digest], 'x-signature': [`sha256=${digest}`] },
  };
  for (const [what, headers] of Object.entries(wrong)) {
    test(`${what} is no proof`, () => assert.equal(holds('GitHub', token, headers, body), false));
  }

  test('the signature of another body, and of another token, is no proof', () => {
    assert.equal(holds('GitHub', token, signed(`sha256=${digest}`), 'Hello, World'), false);
    assert.equal(holds('GitHub', token, signed(`sha256=${digest}`)), false);
    assert.equal(holds('GitHub', `${token}.`, signed(`sha256=${digest}`), body), false);
  });
});

describe('Gitea, and Forgejo', () => {
  const token = 'a secret of a Gitea';
  const body = '{"ref":"refs/heads/main"}';

  test('X-Gitea-Signature is the bare hex digest of the body', () => {
    assert.equal(holds('Gitea', token, { 'x-gitea-signature': [hex(token, body)] }, body), true);
    // RFC 4231, test case 2.
    const digest = '5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843';
    assert.equal(holds('Gitea', 'Jefe', { 'x-gitea-signature': [digest] }, 'what do ya want for nothing?'), true);
  });

  test('anything else is no proof', () => {
    for (const value of ['', `sha256=${hex(token, body)}`, hex('other', body), hex(token, body).slice(2)]) {
      assert.equal(holds('Gitea', token, { 'x-gitea-signature': [value] }, body), false, value);
    }
    assert.equal(holds('Gitea', token, {}, body), false);
  });
});

/** From the specification of Standard Webhooks. */
const standard = {
  token: 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw',
  body: '{"test": 2432232314}',
  headers: {
    'webhook-id': ['msg_p5jXN8AQM9LWM0D4loKWxJek'],
    'webhook-timestamp': ['1614265330'],
    'webhook-signature': ['v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE='],
  },
};

describe('GitLab', () => {
  const token = 'a secret token of GitLab';

  test('the secret token stands in X-Gitlab-Token', () => {
    assert.equal(holds('GitLab', token, { 'x-gitlab-token': [token] }, '{}'), true);
    assert.equal(
      holds(
        'GitLab',
        'ein Geheimwort für GitLab',
        { 'x-gitlab-token': [Buffer.from('ein Geheimwort für GitLab').toString('latin1')] },
        '',
      ),
      true,
    );
  });

  test('another one, a part of it, none, and two are no proof', () => {
    for (const value of [['other'], [token.slice(0, -1)], [`${token} `], [''], [], [token, token]]) {
      assert.equal(holds('GitLab', token, { 'x-gitlab-token': value }, '{}'), false, value.join());
    }
    assert.equal(holds('GitLab', token, {}, '{}'), false);
  });

  test('a signing token signs as Standard Webhooks do', () => {
    assert.equal(holds('GitLab', standard.token, standard.headers, standard.body), true);
    const [right] = standard.headers['webhook-signature'];
    const several = { ...standard.headers, 'webhook-signature': [`v1a,x v1,${'A'.repeat(43)}= ${right}`] };
    assert.equal(holds('GitLab', standard.token, several, standard.body), true);
  });

  test('of a signed webhook every part counts', () => {
    for (const [name, value] of Object.entries({
      'webhook-id': 'msg_other',
      'webhook-timestamp': '1614265331',
      'webhook-signature': `v1,${'A'.repeat(43)}=`,
    })) {
      assert.equal(holds('GitLab', standard.token, { ...standard.headers, [name]: [value] }, standard.body), false);
      assert.equal(holds('GitLab', standard.token, { ...standard.headers, [name]: undefined }, standard.body), false);
    }
    assert.equal(holds('GitLab', standard.token, standard.headers, `${standard.body} `), false);
  });

  test('a signing token is not shown in the place of a signature', () => {
    assert.equal(holds('GitLab', standard.token, { 'x-gitlab-token': [standard.token] }, standard.body), false);
  });
});

describe('any other provider', () => {
  const token = 'a token of somebody';
  const body = 'pushed';

  test('signs in X-Signature or X-Hub-Signature, as Standard Webhooks do, or shows a bearer token', () => {
    const signature = `sha256=${hex(token, body)}`;
    assert.equal(holds('Generic', token, { 'x-signature': [signature] }, body), true);
    assert.equal(holds('Generic', token, { 'x-hub-signature': [signature] }, body), true);
    assert.equal(holds('Generic', standard.token, standard.headers, standard.body), true);
    assert.equal(
      holds('Generic', 'a-token-of-somebody', { authorization: ['Bearer a-token-of-somebody'] }, body),
      true,
    );
    assert.equal(
      holds('Generic', 'a-token-of-somebody', { authorization: ['bearer a-token-of-somebody'] }, body),
      true,
    );
  });

  test("Atlassian's own example of X-Hub-Signature passes", () => {
    const digest = 'a4771c39fbe90f317c7824e83ddef3caae9cb3d976c214ace1f2937e133263c9';
    const headers = { 'x-hub-signature': [`sha256=${digest}`] };
    assert.equal(holds('Generic', "It's a Secret to Everybody", headers, 'Hello World!'), true);
  });

  test('a wrong signature is not made good by a token', () => {
    const both = { 'x-signature': ['sha256=0'], authorization: ['Bearer a-token-of-somebody'] };
    assert.equal(holds('Generic', 'a-token-of-somebody', both, body), false);
  });

  test('nothing, Basic, another token and two are no proof', () => {
    const basic = `Basic ${Buffer.from('a:a-token-of-somebody').toString('base64')}`;
    const bearer = 'Bearer a-token-of-somebody';
    for (const authorization of [
      undefined,
      [basic],
      ['Bearer '],
      ['Bearer other'],
      ['a-token-of-somebody'],
      [bearer, bearer],
    ]) {
      assert.equal(holds('Generic', 'a-token-of-somebody', { authorization }, body), false);
    }
  });
});
