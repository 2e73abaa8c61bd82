// Completion of the variables of an address and of a prompt's arguments.
import { ProtocolError, ProtocolErrorCode } from '@modelcontextprotocol/server';
import { z } from 'zod';
import { promptCompletion, templateCompletion } from '../../answers/completion.ts';
import { visiblePrompt } from '../../answers/prompts.ts';
import { shortened } from '../../answers/words.ts';
import { type Method, method } from '../method.ts';
import { promptNotFound } from './prompts.ts';

const params = z.looseObject({
  ref: z.discriminatedUnion('type', [
    z.looseObject({ type: z.literal('ref/prompt'), name: z.string() }),
    z.looseObject({ type: z.literal('ref/resource'), uri: z.string() }),
  ]),
  argument: z.looseObject({ name: z.string(), value: z.string() }),
  context: z.looseObject({ arguments: z.record(z.string(), z.string()).optional() }).optional(),
});

export const completionMethods: readonly Method[] = [
  method({
    name: 'completion/complete',
    params,
    cacheable: false,
    answer({ ref, argument, context }, { view }) {
      if (ref.type === 'ref/prompt') {
        const prompt = visiblePrompt(view, ref.name);
        if (prompt === undefined) throw promptNotFound(ref.name);
        return { completion: promptCompletion(prompt, argument.name, argument.value) };
      }
      const filled = new Map(Object.entries(context?.arguments ?? {}));
      const completion = templateCompletion(view, ref.uri, argument.name, argument.value, filled);
      if (completion === undefined) {
        const message = `No resource template '${shortened(ref.uri)}'; resources/templates/list has them`;
        throw new ProtocolError(ProtocolErrorCode.InvalidParams, message);
      }
      return { completion };
    },
  }),
];
