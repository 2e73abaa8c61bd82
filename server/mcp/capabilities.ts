// What the server says it can do, in `server/discover` and in the answer to `initialize`.
import type { ServerCapabilities } from '@modelcontextprotocol/server';
import { skillsExtension } from '../answers/skills.ts';

export const capabilities: ServerCapabilities = {
  resources: {},
  prompts: {},
  completions: {},
  tools: {},
  extensions: { [skillsExtension]: { directoryRead: true } },
};
