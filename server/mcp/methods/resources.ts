// Resources: the listing, the shapes of addresses, and reading.
import { ProtocolError, ProtocolErrorCode } from '@modelcontextprotocol/server';
import { z } from 'zod';
import { listPage } from '../../answers/listing.ts';
import { contentsOf, resolve } from '../../answers/read.ts';
import { resourceTemplates } from '../../answers/templates.ts';
import { shortened } from '../../answers/words.ts';
import { type Method, method, onePage, pageParams } from '../method.ts';

export const resourceMethods: readonly Method[] = [
  method({
    name: 'resources/list',
    params: pageParams,
    cacheable: true,
    answer({ cursor }, { view, choices }) {
      const { rows, nextCursor } = listPage(view, choices.fullListing, cursor);
      return { resources: rows, ...(nextCursor === undefined ? {} : { nextCursor }) };
    },
  }),
  method({
    name: 'resources/templates/list',
    params: pageParams,
    cacheable: true,
    answer: ({ cursor }) => onePage(cursor, { resourceTemplates }),
  }),
  method({
    name: 'resources/read',
    params: z.looseObject({ uri: z.string() }),
    cacheable: true,
    async answer({ uri }, { view, read }) {
      const target = resolve(view, uri);
      if (target === undefined) {
        const quoted = shortened(uri);
        throw new ProtocolError(ProtocolErrorCode.InvalidParams, `Resource not found: ${quoted}`, { uri: quoted });
      }
      const contents = [await contentsOf(view, target, uri)];
      read(target);
      return { contents };
    },
  }),
];
