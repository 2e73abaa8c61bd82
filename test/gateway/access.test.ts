// The tokens of a gateway: what a Secret gives, what it is told of, and that nothing opens by accident.
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { digestOf } from '../../catalogue/digest.ts';
import { type Access, accessOf } from '../../operator/gateway/access.ts';
import { gatewayStatus } from '../../operator/gateway/gateway-status.ts';
import { clientTokens, mostClients } from '../../operator/gateway/tokens.ts';
import type { SecretContent } from '../../operator/kubernetes/cluster.ts';
import { KubernetesError } from '../../operator/kubernetes/kubernetes-error.ts';

const [one, two] = ['first-0123456789', 'second-0123456789'];
const secret = (values: Record<string, string>) =>
  new Map(Object.entries(values).map(([key, value]) => [key, Buffer.from(value)]));
const digest = (token: string) => digestOf(Buffer.from(token));

describe('the values of a Secret', () => {
  it('are tokens of the clients that their keys name, told as digests', () => {
    assert.deepEqual(clientTokens(secret({ ops: two, n8n: one })), {
      tokens: [
        { client: 'n8n', digest: digest(one) },
        { client: 'ops', digest: digest(two) },
      ],
    });
  });

  it('that are no tokens let nobody in, are named by their keys, and leave the others', () => {
    for (const value of [
      '',
      'fifteen-letters',
      ' ',
      `${one} `,
      ` ${one}`,
      `${one}\n`,
      `${one}\r\n`,
      'with a blank in it',
      `${one}ü`,
      `${one}\u007f`,
      `${one}\u0000`,
      'x'.repeat(1025),
    ]) {
      const { tokens, complaint } = clientTokens(secret({ bad: value, good: two }));
      assert.deepEqual(tokens, [{ client: 'good', digest: digest(two) }], JSON.stringify(value));
      assert.match(complaint!, /the value of bad is no token: write 16 to 1,024 visible ASCII characters/);
      assert.ok(value.trim() === '' || !complaint!.includes(value.trim()), complaint);
    }
    for (const value of ['x'.repeat(16), 'x'.repeat(1024), `!~${one}`]) {
      assert.equal(clientTokens(secret({ good: value })).complaint, undefined);
    }
  });

  it('that two clients share belong to neither, since their ceilings may differ', () => {
    const { tokens, complaint } = clientTokens(secret({ a: one, b: two, c: one }));
    assert.deepEqual(tokens, [{ client: 'b', digest: digest(two) }]);
    assert.match(complaint!, /a, c have the same token: give each client its own/);
    assert.ok(!complaint!.includes(one));
  });

  it('are read up to a bound', () => {
    const many = Object.fromEntries(Array.from({ length: mostClients + 1 }, (_, n) => [`c${n}`, `${one}-${n}`]));
    const { tokens, complaint } = clientTokens(secret(many));
    assert.equal(tokens.length, mostClients);
    assert.match(complaint!, /more than 1000 keys/);
  });
});

describe('who may use a gateway', () => {
  const auth = {
    tokens: { secretRef: { name: 'tokens' } },
    scopes: [
      { token: 'n8n', library: 'grafana' },
      { token: 'gone', tags: ['ops'] },
    ],
  };
  const scopes = [
    { client: 'n8n', library: 'grafana' },
    { client: 'gone', tags: ['ops'] },
  ];
  const access = (readSecret: () => Promise<SecretContent | undefined>, before?: Access) =>
    accessOf({ readSecret }, 'flow', auth, before);
  const there = async () => ({ data: secret({ n8n: one }), resourceVersion: '7' });
  const refused = async (): Promise<never> => {
    throw new KubernetesError('forbidden', 'GET a Secret: the API server answered 403');
  };
  const away = async (): Promise<never> => {
    throw new KubernetesError('network', 'GET a Secret: the API server is away');
  };

  it('is whoever has a token of the Secret, below the ceilings of the spec', async () => {
    const { setting, fault, secret: used } = await access(there);
    assert.deepEqual(setting, { tokens: [{ client: 'n8n', digest: digest(one) }], scopes });
    assert.deepEqual([fault, used], [undefined, { name: 'tokens', version: '7' }]);
  });

  it('is told of a ceiling for a client that has no token', async () => {
    const { remark, fault } = await access(there);
    assert.match(remark!, /spec\.auth\.scopes .* Secret "tokens": gone$/);
    const status = gatewayStatus({
      before: undefined,
      generation: 1,
      standing: { sources: { views: [], missing: [] }, access: { remark: remark!, ...(fault ? { fault } : {}) } },
      published: undefined,
      url: undefined,
      now: '2026-01-01T00:00:00Z',
    }) as { conditions: { status: string; message: string }[] };
    assert.equal(status.conditions[0]!.status, 'True');
    assert.ok(status.conditions[0]!.message.endsWith(remark!));
  });

  it('is nobody where the Secret is not there or empty', async () => {
    const before = await access(there);
    for (const [read, message] of [
      [async () => undefined, /Secret "tokens" is not there in namespace "flow": create it, or change spec\.auth/],
      [async () => ({ data: new Map(), resourceVersion: '8' }), /Secret "tokens" .*empty/],
    ] as const) {
      const { setting, fault } = await access(read, before);
      assert.deepEqual(setting, { tokens: [], scopes });
      assert.equal(fault?.reason, 'SecretNotFound');
      assert.match(fault!.message, message);
    }
  });

  it('stays who it was while the Secret cannot be read, but for another Secret', async () => {
    const before = await access(there);
    const meanwhile = await access(refused, before);
    assert.deepEqual(meanwhile.setting, before.setting);
    assert.match(meanwhile.fault!.message, /allow get on secrets/);
    assert.deepEqual(await access(away, before), before);
    const others = { ...before, secret: { name: 'others', version: '7' } };
    assert.deepEqual((await access(refused, others)).setting.tokens, []);
    await assert.rejects(access(away, others), KubernetesError);
    await assert.rejects(access(away), KubernetesError);
  });
});
