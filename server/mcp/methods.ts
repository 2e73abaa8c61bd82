// Every method that Lyceum answers; the SDK answers the protocol's own (initialize, ping, server/discover).
import type { Method } from './method.ts';
import { completionMethods } from './methods/completion.ts';
import { promptMethods } from './methods/prompts.ts';
import { resourceMethods } from './methods/resources.ts';
import { skillMethods } from './methods/skills.ts';
import { toolMethods } from './methods/tools.ts';

export const methods: readonly Method[] = [
  ...resourceMethods,
  ...promptMethods,
  ...completionMethods,
  ...skillMethods,
  ...toolMethods,
];
