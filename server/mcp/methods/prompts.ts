// Prompts: the list, and one of them with its arguments filled in.
import { ProtocolError, ProtocolErrorCode } from '@modelcontextprotocol/server';
import { z } from 'zod';
import { PromptRefused } from '../../answers/prompt-text.ts';
import { promptPage, renderedPrompt, visiblePrompt } from '../../answers/prompts.ts';
import { shortened } from '../../answers/words.ts';
import { type Method, method, pageParams } from '../method.ts';

export const promptMethods: readonly Method[] = [
  method({
    name: 'prompts/list',
    params: pageParams,
    cacheable: true,
    answer({ cursor }, { view }) {
      const { rows, nextCursor } = promptPage(view, cursor);
      return { prompts: rows, ...(nextCursor === undefined ? {} : { nextCursor }) };
    },
  }),
  method({
    name: 'prompts/get',
    params: z.looseObject({ name: z.string(), arguments: z.unknown().optional() }),
    cacheable: false,
    async answer({ name, arguments: sent }, { view, read }) {
      const prompt = visiblePrompt(view, name);
      if (prompt === undefined) throw promptNotFound(name);
      try {
        const result = await renderedPrompt(view, prompt, sent);
        read({ kind: 'prompt', library: prompt.from.library });
        return { ...result };
      } catch (error) {
        if (error instanceof PromptRefused) throw new ProtocolError(ProtocolErrorCode.InvalidParams, error.message);
        throw error;
      }
    },
  }),
];

/** The same for what is absent and what is out of scope. */
export const promptNotFound = (name: string): ProtocolError =>
  new ProtocolError(ProtocolErrorCode.InvalidParams, `Prompt not found: ${shortened(name)}`);
