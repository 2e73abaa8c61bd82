// Tools: those that a request wants to see, while all of them can be called.
import { ProtocolError, ProtocolErrorCode } from '@modelcontextprotocol/server';
import { z } from 'zod';
import { callMirrorTool, mirrorTools } from '../../answers/mirror-tools.ts';
import { shortened } from '../../answers/words.ts';
import { type Method, method, onePage, pageParams } from '../method.ts';

export const toolMethods: readonly Method[] = [
  method({
    name: 'tools/list',
    params: pageParams,
    cacheable: true,
    answer: ({ cursor }, { choices }) =>
      onePage(cursor, { tools: choices.mirrorTools ? mirrorTools(choices.fullListing) : [] }),
  }),
  method({
    name: 'tools/call',
    params: z.looseObject({ name: z.string(), arguments: z.record(z.string(), z.unknown()).optional() }),
    cacheable: false,
    async answer({ name, arguments: args }, { view, choices, read }) {
      const answer = await callMirrorTool(view, choices.fullListing, name, args ?? {});
      if (answer === undefined) {
        const known = mirrorTools(false).map((tool) => tool.name);
        throw new ProtocolError(
          ProtocolErrorCode.InvalidParams,
          `No tool '${shortened(name)}'; there is ${known.join(' and ')}`,
        );
      }
      const { target, ...result } = answer;
      if (target !== undefined) read(target);
      return { ...result };
    },
  }),
];
