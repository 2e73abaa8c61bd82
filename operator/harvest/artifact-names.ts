// What prompts, rules and profiles are called, from where their files stand.
import { slug } from '../../catalogue/names.ts';
import { folderOf, joinPath, nameOf } from '../source/path.ts';

const longestName = 64;

/** `mended`: it is not what the author wrote, but a form of it. An empty name is none. */
export interface ArtifactName {
  name: string;
  mended: boolean;
}

/** Extensions that say what a file is, and those behind which nothing is left to say. */
const extensions = /\.(?:prompt\.md|instructions\.md|agent\.md|chatmode\.md|md|markdown|mdc)$/i;

/** A path without its extensions: `a/review.prompt.md` is `a/review`, `a/v1.2.md` is `a/v1.2`. */
export function withoutExtensions(path: string): string {
  const name = nameOf(path);
  return joinPath(folderOf(path), name.replace(extensions, '') || name);
}

/** The slug of a file's stem, or of a folder's name as it is. */
export const fileName = (path: string): ArtifactName => slugged(nameOf(withoutExtensions(path)));
export const folderName = (path: string): ArtifactName => slugged(nameOf(path));

const slugged = (text: string): ArtifactName => ({ name: slug(text, longestName), mended: false });

/** A prompt's stem; below a folder of commands with all the folders on the way: `commands/git/tag.md` is `git_tag`. */
export function promptName(path: string): ArtifactName {
  const parts = withoutExtensions(path).split('/');
  const commands = parts.slice(0, -1).indexOf('commands');
  const written = commands === -1 ? parts.slice(-1) : parts.slice(commands + 1);
  const mended = written.map((part) => part.replace(/[^A-Za-z0-9_.-]+/g, '-'));
  return { name: mended.join('_'), mended: mended.some((part, at) => part !== written[at]) };
}
