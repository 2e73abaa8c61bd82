// A SKILL.md of usual size that conforms to the Agent Skills specification.
import type { Random } from './random.ts';

export function skillText(name: string, random: Random, bytes = 2000): string {
  const description = random.text(160).replaceAll('\n', ' ').trim();
  return `---\nname: ${name}\ndescription: ${description}\n---\n# ${name}\n\n${random.text(bytes)}\n`;
}
