// What the SDK says about parameters that are not right, in plain words: some of its errors are a schema library's list of
// issues as JSON, and one of them has the code of an internal error.
import { ProtocolErrorCode } from '@modelcontextprotocol/server';
import { z } from 'zod';
import type { WholeAnswer } from './answer.ts';

const issues = z.array(z.object({ path: z.array(z.union([z.string(), z.number()])), message: z.string() })).nonempty();

const failure = z.looseObject({ error: z.looseObject({ code: z.number(), message: z.string() }) });

/** In characters. Longer ones are results: no issue is told of what is long. */
const longestLookedAt = 64 * 1024;

/** @param method that was asked for */
export function inPlainWords(answer: WholeAnswer, method: unknown): WholeAnswer {
  const { body } = answer;
  if (body === undefined || body.length > longestLookedAt || !body.includes('"error"') || !body.includes('\\"code\\"'))
    return answer;
  const given = failure.safeParse(JSON.parse(body));
  const found = given.success ? issuesIn(given.data.error.message) : undefined;
  if (!given.success || found === undefined) return answer;
  const words = found.map(({ path, message }) => [path.slice(path[0] === 'params' ? 1 : 0).join('.'), message]);
  const message = words.map(([name, what]) => (name === '' ? what : `${name}: ${what}`)).join(', ');
  const error = { code: ProtocolErrorCode.InvalidParams, message: `Invalid params for ${method}: ${message}` };
  return { ...answer, body: JSON.stringify({ ...given.data, error }) };
}

function issuesIn(message: string): z.output<typeof issues> | undefined {
  const start = message.indexOf('[\n');
  if (start === -1) return undefined;
  try {
    const parsed = issues.safeParse(JSON.parse(message.slice(start)));
    return parsed.success ? parsed.data : undefined;
  } catch {
    return undefined;
  }
}
