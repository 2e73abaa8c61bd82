// The origins of browsers' pages that index.json lets in, in the form in which browsers send them.
import type { Index } from '../catalogue/index-file.ts';

type AllowedOrigins = ReadonlySet<string>;

const none: AllowedOrigins = new Set();
const known = new WeakMap<readonly string[], AllowedOrigins>();

/** Origins besides the gateway's own; none before there is an index. */
export function allowedOrigins(index: Index | undefined): AllowedOrigins {
  const given = index?.allowedOrigins;
  if (given === undefined) return none;
  const before = known.get(given);
  if (before !== undefined) return before;
  const made = new Set(given.map(asSent));
  known.set(given, made);
  return made;
}

/** Lower case, and without the port that the scheme has anyway: `HTTPS://Claude.ai:443` is sent as `https://claude.ai`. */
function asSent(origin: string): string {
  const sent = URL.parse(origin)?.origin;
  return sent === undefined || sent === 'null' ? origin.toLowerCase() : sent;
}
