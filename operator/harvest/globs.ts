// Globs: which paths a pattern means, bounded so that a crafted one costs no more than a plain one.
import { braceExpand, Minimatch } from 'minimatch';
import { SourceFault } from '../reasons.ts';

export interface Glob {
  /** As the user wrote it. */
  pattern: string;
  /** Whether it matches a path relative to the subdirectory. NFC and NFD are one here, and only here. */
  matches(path: string): boolean;
  /** Whether something below this folder can match: false only where its first parts rule that out. */
  mayMatchIn(folder: string): boolean;
  /** Whether it names exactly this path, without a wildcard. */
  names(path: string): boolean;
  /** The parts with a leading dot that it names without a wildcard: those are visible to it. */
  dotParts: ReadonlySet<string>;
}

const mostGlobs = 64;
const longestGlob = 512;
const mostAlternatives = 256;

const options = {
  dot: true,
  nocomment: true,
  nonegate: true,
  noext: true,
  normalize: true,
  braceExpandMax: mostAlternatives + 1,
} as const;

/**
 * @param field the list's name in the spec, for the message
 * @throws SourceFault InvalidSpec beyond 64 patterns, 512 characters or 256 alternatives in braces
 */
export function compileGlobs(patterns: readonly string[], field: string): Glob[] {
  if (patterns.length > mostGlobs) {
    throw new SourceFault('InvalidSpec', `${field} has more than ${mostGlobs} globs: write fewer, wider ones`);
  }
  return patterns.map((pattern, at) => compileGlob(pattern, `${field}[${at}]`));
}

function compileGlob(pattern: string, field: string): Glob {
  if (pattern.length > longestGlob) {
    throw new SourceFault('InvalidSpec', `${field} has more than ${longestGlob} characters: shorten it`);
  }
  const relative = pattern
    .replace(/\/(?:\.?\/)+/g, '/')
    .replace(/^\.?\//, '')
    .replace(/\/$/, '');
  const whole = relative.replace(/(^|\/)\*\*$/, '$1**/*');
  const alternatives = braceExpand(whole, options);
  if (alternatives.length > mostAlternatives) {
    throw new SourceFault('InvalidSpec', `${field} stands for more than ${mostAlternatives} alternatives: write fewer`);
  }
  const matcher = new Minimatch(whole, options);
  const plain = new Set(alternatives.filter((alternative) => !isWild(alternative)));
  const beginnings = alternatives.map(beginningOf);
  const parts = alternatives.flatMap((alternative) => alternative.split('/'));
  return {
    pattern,
    matches: (path) => matcher.match(path),
    mayMatchIn: (folder) => beginnings.some((beginning) => agree(beginning, folder)),
    names: (path) => plain.has(path),
    dotParts: new Set(parts.filter((part) => part.startsWith('.') && !isWild(part))),
  };
}

/** The folders that a pattern begins with, up to the first wildcard. */
function beginningOf(pattern: string): string[] {
  const folders = pattern.split('/').slice(0, -1);
  const wild = folders.findIndex(isWild);
  return (wild === -1 ? folders : folders.slice(0, wild)).map((part) => part.normalize('NFC'));
}

/** Whether a folder and a pattern's beginning can lead to one place. */
function agree(beginning: readonly string[], folder: string): boolean {
  if (folder === '') return true;
  const parts = folder.normalize('NFC').split('/');
  return beginning.every((part, at) => at >= parts.length || parts[at] === part);
}

const isWild = (text: string): boolean => /[*?[\]\\]/.test(text);
