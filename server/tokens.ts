// Bearer tokens against what index.json tells of them: which client one belongs to, and the ceiling of that client.
import { hash, timingSafeEqual } from 'node:crypto';
import type { AuthSetting } from '../catalogue/index-file.ts';
import { intersect, type Scope, settingScope } from './scope.ts';

/** One index's tokens, made ready: a new index.json has one of its own, so a token that was rotated away is forgotten with the old. */
interface Doorkeeper {
  tokens: readonly { client: string; digest: Buffer }[];
  ceilings: ReadonlyMap<string, Scope>;
  /** Tokens that were right before: looking one up is cheaper than its digest. At most one for each digest. */
  known: Map<string, string>;
}

const doorkeepers = new WeakMap<AuthSetting, Doorkeeper>();

/**
 * The client whose token it is; undefined when it is nobody's. A digest is compared with all of them, each in constant time.
 * @param token as it was presented
 */
export function clientOfToken(auth: AuthSetting, token: string): string | undefined {
  const { tokens, known } = doorkeeperOf(auth);
  const before = known.get(token);
  if (before !== undefined) return before;
  const presented = hash('sha256', token, 'buffer');
  let client: string | undefined;
  for (const one of tokens) if (timingSafeEqual(presented, one.digest)) client ??= one.client;
  if (client !== undefined) known.set(token, client);
  return client;
}

/** What a client may see at most, besides the gateway's own ceiling. */
export const ceilingOf = (auth: AuthSetting, client: string): Scope => doorkeeperOf(auth).ceilings.get(client) ?? [];

function doorkeeperOf(auth: AuthSetting): Doorkeeper {
  const ready = doorkeepers.get(auth);
  if (ready !== undefined) return ready;
  const ceilings = new Map<string, Scope>();
  for (const { client, ...scope } of auth.scopes) {
    ceilings.set(client, intersect(ceilings.get(client) ?? [], settingScope(scope)));
  }
  const made: Doorkeeper = {
    tokens: auth.tokens.map(({ client, digest }) => ({ client, digest: Buffer.from(digest.slice(prefix), 'hex') })),
    ceilings,
    known: new Map(),
  };
  doorkeepers.set(auth, made);
  return made;
}

const prefix = 'sha256:'.length;
