// Whether who sent a webhook knows its token: by each provider's own headers, over the bytes as they came. Pure.
import { createHmac, hash, timingSafeEqual } from 'node:crypto';
import type { WebhookProvider } from '../resources/skill-source.ts';

/** Takes the body piece by piece, and says at its end whether who sent it knows the token. */
export interface Proof {
  update(piece: Buffer): void;
  holds(): boolean;
}

/** By lower-case name, each value as it came: one that was sent twice is no proof. */
export type SentHeaders = Readonly<Record<string, readonly string[] | undefined>>;

/** Everything that a proof reads. */
export const provingHeaders = [
  'authorization',
  'webhook-id',
  'webhook-signature',
  'webhook-timestamp',
  'x-gitea-signature',
  'x-gitlab-token',
  'x-hub-signature',
  'x-hub-signature-256',
  'x-signature',
] as const;
type ProvingHeader = (typeof provingHeaders)[number];

/** Of a request that shows nothing that could be checked. */
const noProof: Proof = { update: () => {}, holds: () => false };

export function proofOf(provider: WebhookProvider, token: Buffer, headers: SentHeaders): Proof {
  const only = (name: ProvingHeader): string | undefined =>
    headers[name]?.length === 1 ? headers[name][0] : undefined;
  switch (provider) {
    case 'GitHub':
      return digestProof(token, prefixed(only('x-hub-signature-256')));
    case 'Gitea':
      return digestProof(token, only('x-gitea-signature'));
    case 'GitLab':
      return signingKey(token) === undefined ? tokenProof(token, only('x-gitlab-token')) : signedProof(token, only);
    case 'Generic':
      if (signingKey(token) !== undefined) return signedProof(token, only);
      for (const name of ['x-signature', 'x-hub-signature'] as const) {
        if (headers[name] !== undefined) return digestProof(token, prefixed(only(name)));
      }
      return tokenProof(token, /^Bearer +(\S+) *$/i.exec(only('authorization') ?? '')?.[1]);
  }
}

const prefixed = (value: string | undefined): string | undefined => /^sha256=(.*)$/s.exec(value ?? '')?.[1];

/** The HMAC-SHA256 of the body, in hex. */
function digestProof(token: Buffer, shown: string | undefined): Proof {
  if (shown === undefined || !/^[0-9a-f]{64}$/i.test(shown)) return noProof;
  const hmac = createHmac('sha256', token);
  return {
    update: (piece) => void hmac.update(piece),
    holds: () => timingSafeEqual(hmac.digest(), Buffer.from(shown, 'hex')),
  };
}

/** The token itself. */
function tokenProof(token: Buffer, shown: string | undefined): Proof {
  if (shown === undefined) return noProof;
  const digest = (bytes: Buffer): Buffer => hash('sha256', bytes, 'buffer');
  // Header values are bytes, which Node tells as Latin-1.
  const holds = timingSafeEqual(digest(token), digest(Buffer.from(shown, 'latin1')));
  return { update: () => {}, holds: () => holds };
}

/** The key in a token of Standard Webhooks; undefined where it is none. */
function signingKey(token: Buffer): Buffer | undefined {
  const encoded = /^whsec_([A-Za-z0-9+/]+={0,2})$/.exec(token.toString('latin1'))?.[1];
  return encoded === undefined ? undefined : Buffer.from(encoded, 'base64');
}

/** A signature as Standard Webhooks has it: of the delivery's id, its time and the body; one of several may be right. */
function signedProof(token: Buffer, only: (name: ProvingHeader) => string | undefined): Proof {
  const [id, time, signatures] = [only('webhook-id'), only('webhook-timestamp'), only('webhook-signature')];
  if (id === undefined || time === undefined || signatures === undefined) return noProof;
  const shown = signatures.split(' ').flatMap((one) => {
    const encoded = /^v1,([A-Za-z0-9+/]{43}=)$/.exec(one)?.[1];
    return encoded === undefined ? [] : [Buffer.from(encoded, 'base64')];
  });
  const hmac = createHmac('sha256', signingKey(token)!).update(Buffer.from(`${id}.${time}.`, 'latin1'));
  return {
    update: (piece) => void hmac.update(piece),
    holds() {
      const expected = hmac.digest();
      return shown.some((one) => timingSafeEqual(expected, one));
    },
  };
}
