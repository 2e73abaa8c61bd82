// The Skills extension (SEP-2640): skills/list, skills/get, and directories of what is served.
import { ProtocolError, ProtocolErrorCode } from '@modelcontextprotocol/server';
import { z } from 'zod';
import { directoryPage } from '../../answers/directory.ts';
import { skillEntry, skillsPage } from '../../answers/skills.ts';
import { shortened } from '../../answers/words.ts';
import { type Method, method, pageParams } from '../method.ts';

export const skillMethods: readonly Method[] = [
  method({
    name: 'skills/list',
    params: pageParams,
    cacheable: true,
    answer({ cursor }, { view }) {
      const { rows, nextCursor } = skillsPage(view, cursor);
      return { skills: rows, ...(nextCursor === undefined ? {} : { nextCursor }) };
    },
  }),
  method({
    name: 'skills/get',
    params: z.looseObject({ uri: z.string() }),
    cacheable: true,
    answer({ uri }, { view }) {
      const skill = skillEntry(view, uri);
      if (skill === undefined) throw notFound('Skill', uri);
      return { skill };
    },
  }),
  method({
    name: 'resources/directory/read',
    params: pageParams.extend({ uri: z.string() }),
    cacheable: true,
    answer({ uri, cursor }, { view }) {
      const page = directoryPage(view, uri, cursor);
      if (page === undefined) throw notFound('Directory', uri);
      const { rows, nextCursor } = page;
      return { resources: rows, ...(nextCursor === undefined ? {} : { nextCursor }) };
    },
  }),
];

function notFound(what: string, uri: string): ProtocolError {
  const quoted = shortened(uri);
  return new ProtocolError(ProtocolErrorCode.InvalidParams, `${what} not found: ${quoted}`, { uri: quoted });
}
