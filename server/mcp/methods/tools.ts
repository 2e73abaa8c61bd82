// Tools: those that a request wants to see, while all of them can be called.
import { ProtocolError, ProtocolErrorCode } from '@modelcontextprotocol/server';
import { z } from 'zod';
import { shownTools, tools } from '../../answers/tools.ts';
import { inWords, shortened } from '../../answers/words.ts';
import { type Method, method, onePage, pageParams } from '../method.ts';

export const toolMethods: readonly Method[] = [
  method({
    name: 'tools/list',
    params: pageParams,
    cacheable: true,
    answer: ({ cursor }, { choices }) => onePage(cursor, { tools: shownTools(choices) }),
  }),
  method({
    name: 'tools/call',
    params: z.looseObject({ name: z.string(), arguments: z.record(z.string(), z.unknown()).optional() }),
    cacheable: false,
    async answer({ name, arguments: args }, { view, choices, read, downloads }) {
      const tool = tools.find((one) => one.name === name);
      if (tool === undefined) {
        const known = inWords(tools.map((one) => one.name));
        throw new ProtocolError(ProtocolErrorCode.InvalidParams, `No tool '${shortened(name)}'; there is ${known}`);
      }
      const { touched, ...result } = await tool.call(args ?? {}, view, choices, downloads);
      if (touched !== undefined) read(touched);
      return { ...result };
    },
  }),
];
