// The readers of main files, by name: which one a file needs hangs on its kind and on where it stands.

import type { ParsedMain } from '../../catalogue/main-text.ts';
import { parseSkill } from '../../catalogue/skill-text.ts';
import { parseCursorRule, parseDocument } from './document.ts';
import { parsePrompt } from './prompt.ts';

export type Parser = (bytes: Buffer, isText: boolean) => ParsedMain;

export const parsers = {
  skill: parseSkill,
  placeholders: (bytes, isText) => parsePrompt(bytes, isText, 'placeholders'),
  claude: (bytes, isText) => parsePrompt(bytes, isText, 'claude'),
  copilot: (bytes, isText) => parsePrompt(bytes, isText, 'copilot'),
  rule: (bytes, isText) => parseDocument(bytes, isText, 'rule'),
  cursorRule: parseCursorRule,
  profile: (bytes, isText) => parseDocument(bytes, isText, 'profile'),
} as const satisfies Record<string, Parser>;

export type ParserName = keyof typeof parsers;
