// The tools: which there are, and which of them a request is shown. All of them can be called.
import type { Choices } from '../choices.ts';
import { artifactTools } from './artifact-tools.ts';
import { promptTools } from './prompt-tools.ts';
import { resourceTools } from './resource-tools.ts';
import type { Tool } from './tool.ts';

export const tools: readonly Tool[] = [...resourceTools, ...promptTools, ...artifactTools];

const hints = { readOnlyHint: true, destructiveHint: false, idempotentHint: true, openWorldHint: false };

/** The tools that a request is shown, as `tools/list` has them. */
export const shownTools = (choices: Choices) =>
  tools
    .filter(({ shown }) => shown(choices))
    .map(({ name, title, description, inputSchema }) => ({
      name,
      title,
      description: description(choices),
      inputSchema: inputSchema(choices),
      annotations: { title, ...hints },
    }));
