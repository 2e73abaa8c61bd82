// What the server says it can do, in `server/discover` and in the answer to `initialize`.
import type { ServerCapabilities } from '@modelcontextprotocol/server';
import { skillsExtension } from '../answers/skills.ts';
import type { Era } from './method.ts';

/** Changes are told in the modern era alone: the other one would need sessions. The tools are the same at all times. */
export const capabilitiesOf = (era: Era): ServerCapabilities => ({
  resources: era === 'modern' ? { listChanged: true, subscribe: true } : {},
  prompts: era === 'modern' ? { listChanged: true } : {},
  completions: {},
  tools: {},
  extensions: { [skillsExtension]: { directoryRead: true } },
});
