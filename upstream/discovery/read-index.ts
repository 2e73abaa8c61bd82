// The JSON of a discovery index, read as it arrives: bounded in bytes and depth, and never holding up anything else.
import { createHash } from 'node:crypto';
import { JSONParser, TokenType } from '@streamparser/json';
import { UpstreamFault } from '../fault.ts';
import type { Pace } from '../pace.ts';

/** In bytes: some thirty thousand skills. */
export const largestIndex = 16 * 1024 * 1024;
const deepest = 32;
const parsedAtOnce = 16 * 1024;

export interface RawIndex {
  /** `sha256:<hex>` of the body. */
  digest: string;
  schema: unknown;
  skills: readonly unknown[];
}

/**
 * @param name what messages call the server
 * @throws UpstreamFault UpstreamInvalid for what is no index, and whatever the body throws
 */
export async function readIndex(body: AsyncIterable<Buffer>, name: string, pace: Pace): Promise<RawIndex> {
  const hash = createHash('sha256');
  const found: { schema?: unknown; skills?: unknown } = {};
  const parser = new JSONParser({ paths: ['$.$schema', '$.skills'], keepStack: false });
  let depth = 0;
  parser.onToken = ({ token }) => {
    if (token === TokenType.LEFT_BRACE || token === TokenType.LEFT_BRACKET) depth += 1;
    if (token === TokenType.RIGHT_BRACE || token === TokenType.RIGHT_BRACKET) depth -= 1;
    if (depth > deepest) throw new Error('too deep');
  };
  parser.onValue = ({ key, value }) => {
    if (key === 'skills') found.skills = value;
    else found.schema = value;
  };
  const parse = (step: () => void): void => {
    try {
      step();
    } catch (cause) {
      throw new UpstreamFault('UpstreamInvalid', `${name} answers with something that is no discovery index`, {
        cause,
      });
    }
  };
  for await (const chunk of body) {
    hash.update(chunk);
    for (let at = 0; at < chunk.length; at += parsedAtOnce) {
      parse(() => parser.write(chunk.subarray(at, at + parsedAtOnce)));
      await pace();
    }
  }
  parse(() => {
    if (!parser.isEnded) parser.end();
    if (!Array.isArray(found.skills)) throw new Error('no list of skills');
  });
  return { digest: `sha256:${hash.digest('hex')}`, schema: found.schema, skills: found.skills as unknown[] };
}
