// The kinds of artifact as data: where each is looked for, which files are one, and what it is called.
import type { ArtifactKind } from '../../catalogue/source-catalogue.ts';
import { folderOf, nameOf } from '../source/path.ts';
import { type ArtifactName, fileName, folderName, promptName } from './artifact-names.ts';
import type { ParserName } from './parsers.ts';

/** A kind's name in `include` and in `counts`. */
export type KindList = 'skills' | 'prompts' | 'rules' | 'profiles';

export const kindLists: readonly KindList[] = ['skills', 'prompts', 'rules', 'profiles'];

/** A place where a kind is looked for when its list is left out of `include`. */
export interface Convention {
  /** A glob as `include` has them. */
  glob: string;
  /** Whether only a main file of the folder's own name counts: `profiles/reviewer/reviewer.md`. */
  ofItsFolder?: true;
  /** Whether only the folder of a version counts: `rules/review/1.2.0/RULE.md`. */
  ofVersions?: true;
}

export interface Kind {
  kind: ArtifactKind;
  list: KindList;
  /** In the order of their rights. */
  conventions: readonly Convention[];
  /** Tried after them where a `subdirectory` was given. */
  belowSubdirectory: readonly Convention[];
}

/** A kind whose artifacts are single files, or folders with a main file that the kind's own rule knows. */
export interface DocumentKind extends Kind {
  /** Below the root of a plugin. Globs. */
  inPlugin: readonly string[];
  /** Whether a file of this name can be one, whatever glob names it. */
  isMain(fileName: string): boolean;
  /** Whether a file is one only where a glob names it without a wildcard. */
  isCompanion(fileName: string): boolean;
  /** Whether a file that a glob reaches is none for its name, and may well have been meant as one. */
  isMistakable(path: string): boolean;
  /** Whether its name alone says that it is one, wherever it stands; and how such names look, for a message. */
  tells(fileName: string): boolean;
  telling: string;
  /** Whether a file is the main one of a folder of its own, with what lies beside it. */
  hasFolder(fileName: string, folderName: string): boolean;
  /** @param base the folder below which `path` is read: a plugin's root, or `` */
  nameFor(path: string, base: string, hasFolder: boolean): ArtifactName;
  parserFor(path: string, base: string): ParserName;
}

const at = (...globs: string[]): Convention[] => globs.map((glob) => ({ glob }));

export const skillKind: Kind = {
  kind: 'skill',
  list: 'skills',
  conventions: at('skills/**/SKILL.md', '{.github,.claude,.agents}/skills/*/SKILL.md'),
  belowSubdirectory: at('**/SKILL.md'),
};

/** Files that stand beside prompts and profiles and are none, whatever their case, unless their names tell the kind. */
const companions = /^(?:readme|changelog|contributing|rationale|license|agents|claude|skill)(?:\.|$)/i;

/** Written like this, such a file may well have been meant as a prompt or a profile. */
const lowerCaseCompanion = /^(?:changelog|contributing|agents|claude)\.md$/;

/** Files that stand beside rules, and are rules only for who says so, or where their names tell it. */
const besideRules = /^(?:readme|changelog|contributing|rationale|license|skill)(?:\.|$)/i;

const isMarkdown = (name: string): boolean => /\.(?:md|markdown)$/i.test(name);

const isPrompt = (name: string): boolean => /\.prompt\.md$/i.test(name);

const isAgent = (name: string): boolean => /\.agent\.md$/i.test(name);

const isInstructions = (name: string): boolean => /\.(?:instructions\.md|mdc)$/i.test(name);

/** Whether a path lies in a folder of commands. */
const isCommand = (path: string, base: string): boolean => `/${folderOf(below(base, path))}/`.includes('/commands/');

const below = (base: string, path: string): string => (base === '' ? path : path.slice(base.length + 1));

export const promptKind: DocumentKind = {
  kind: 'prompt',
  list: 'prompts',
  conventions: at('prompts/**/*.md', '.github/prompts/*.prompt.md', 'commands/**/*.md', '.claude/commands/**/*.md'),
  belowSubdirectory: [],
  inPlugin: ['commands/**/*.md'],
  isMain: (name) => isPrompt(name) || (isMarkdown(name) && !companions.test(name)),
  isCompanion: () => false,
  isMistakable: (path) => isCommand(path, '') && lowerCaseCompanion.test(nameOf(path)),
  tells: isPrompt,
  telling: '*.prompt.md',
  hasFolder: () => false,
  nameFor: (path, base) => promptName(below(base, path)),
  parserFor: (path, base) => {
    if (isCommand(path, base)) return 'claude';
    return isPrompt(path) ? 'copilot' : 'placeholders';
  },
};

export const ruleKind: DocumentKind = {
  kind: 'rule',
  list: 'rules',
  conventions: [
    ...at('rules/*/RULE.md'),
    { glob: 'rules/*/*/RULE.md', ofVersions: true },
    ...at(
      '.cursor/rules/*.mdc',
      '.github/instructions/*.instructions.md',
      '.github/copilot-instructions.md',
      'AGENTS.md',
      'CLAUDE.md',
    ),
  ],
  belowSubdirectory: [],
  inPlugin: ['rules/**/*.{md,mdc}'],
  isMain: (name) => isMarkdown(name) || /\.mdc$/i.test(name) || name === '.cursorrules',
  isCompanion: (name) => besideRules.test(name) && !isInstructions(name),
  isMistakable: () => false,
  tells: (name) => name === 'RULE.md' || isInstructions(name),
  telling: 'RULE.md, *.instructions.md or *.mdc',
  hasFolder: (name, folder) => name === 'RULE.md' && folder !== '',
  nameFor: (path, _base, hasFolder) => (hasFolder ? folderName(folderOf(path)) : fileName(path)),
  parserFor: (path) => (/\.mdc$/i.test(path) ? 'cursorRule' : 'rule'),
};

export const profileKind: DocumentKind = {
  kind: 'profile',
  list: 'profiles',
  conventions: [
    { glob: 'profiles/*/*.md', ofItsFolder: true },
    { glob: 'profiles/*/*/*.md', ofItsFolder: true, ofVersions: true },
    ...at('agents/*.md', '.github/agents/*.agent.md', '.claude/agents/*.md'),
  ],
  belowSubdirectory: [],
  inPlugin: ['agents/*.md'],
  isMain: (name) => isAgent(name) || (isMarkdown(name) && !companions.test(name)),
  isCompanion: () => false,
  isMistakable: (path) => {
    const folder = nameOf(folderOf(path));
    const name = nameOf(path);
    return lowerCaseCompanion.test(name) && (folder === 'agents' || name === `${folder}.md`);
  },
  tells: isAgent,
  telling: '*.agent.md',
  hasFolder: (name, folder) => folder !== '' && name === `${folder}.md`,
  nameFor: (path, _base, hasFolder) => (hasFolder ? folderName(folderOf(path)) : fileName(path)),
  parserFor: () => 'profile',
};

export const documentKinds: readonly DocumentKind[] = [promptKind, ruleKind, profileKind];
