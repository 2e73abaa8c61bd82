// What Lyceum knows of a method of the protocol: what it takes, and its result from the request's view.
import { ProtocolError, ProtocolErrorCode, type Result } from '@modelcontextprotocol/server';
import type { Logger } from 'pino';
import { z } from 'zod';
import { ContentUnavailable } from '../../catalogue/content.ts';
import { BadCursor } from '../answers/cursor.ts';
import type { Touched } from '../answers/read.ts';
import type { Choices } from '../choices.ts';
import type { Downloads } from '../downloads/downloads.ts';
import type { View } from '../view.ts';

/** `modern`: 2026-07-28 and later, a request says so itself. `legacy`: those that begin with `initialize`. */
export type Era = 'modern' | 'legacy';

/** What a request's answer is made from. */
export interface RequestContext {
  era: Era;
  view: View;
  choices: Choices;
  logger: Logger;
  /** Told of everything that was read. */
  read(touched: Touched): void;
  downloads: Downloads;
}

export interface Method {
  name: string;
  params: z.ZodType;
  /** Whether the specification has `ttlMs` and `cacheScope` in its result, in the modern era. */
  cacheable: boolean;
  /** @throws ProtocolError, BadCursor, ContentUnavailable */
  answer(params: never, context: RequestContext): Result | Promise<Result>;
}

/** A method whose answer takes what its schema gives. */
export const method = <Params extends z.ZodType>(definition: {
  name: string;
  params: Params;
  cacheable: boolean;
  answer(params: z.output<Params>, context: RequestContext): Result | Promise<Result>;
}): Method => definition as Method;

export const pageParams = z.looseObject({ cursor: z.string().optional() });

/** A list that never has a second page, so that no cursor is one that it gave. @throws BadCursor */
export function onePage<T>(cursor: string | undefined, page: T): T {
  if (cursor !== undefined) throw new BadCursor();
  return page;
}

/** Turns what an answer may throw into the protocol's errors; anything else is logged and told as an internal error. */
export function protocolError(error: unknown, logger: Logger): ProtocolError {
  if (error instanceof ProtocolError) return error;
  if (error instanceof BadCursor) return new ProtocolError(ProtocolErrorCode.InvalidParams, error.message);
  if (error instanceof ContentUnavailable) {
    logger.warn({ digest: error.digest, why: error.message }, 'content not available');
    const message = 'The content of this address cannot be read at the moment; try again in a minute';
    return new ProtocolError(ProtocolErrorCode.InternalError, message);
  }
  logger.error({ err: error }, 'request failed');
  return new ProtocolError(ProtocolErrorCode.InternalError, 'Internal error');
}
