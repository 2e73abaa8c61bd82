// What clients are pointed at: `lyceum run` as a process of its own, over a folder with every kind of material and
// awkward names of files.
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { eventually } from '../../fixtures/eventually.ts';
import { LyceumProcess } from '../../fixtures/lyceum-process.ts';
import type { Files, Owner } from '../../server/support/gateway.ts';
import { get } from '../../server/support/mcp.ts';

/** The files of the skill `atlas/aside`, which sorts first. */
export const aside: Files = {
  'SKILL.md':
    '---\nname: aside\ndescription: What stands aside — “apart”, in Ünïcode.\n---\nRead references/deep/first.md.\n',
  'references/deep/first.md': '# First\n',
  'references/second.md': '# Second\n',
};

/** The files of the skill `atlas/awkward`: names that no URL takes as they are, and bytes that are no text. */
export const awkward: Files = {
  'SKILL.md': '\ufeff---\r\nname: awkward\r\ndescription: Awkward names of files.\r\n---\r\nCRLF and a BOM stay.\r\n',
  'a#b.md': 'number\n',
  'what?.md': 'question\n',
  '100%.md': 'percent\n',
  '100%25.md': 'looks encoded\n',
  'two  words & more+.md': 'spaces\n',
  "it's (a) [b] {c}.md": 'brackets\n',
  'größe/日本語.md': '日本語\n',
  'cafe\u0301.md': 'decomposed\n',
  'assets/logo.png': Buffer.from([0x89, 0x50, 0x4e, 0x47, 0xff, 0x00, 0x0d, 0x0a]),
  'assets/latin1.txt': Buffer.from([0x67, 0x72, 0xf6, 0xdf, 0x65]),
  'assets/empty.txt': '',
};

const atlas: Files = {
  ...below('skills/aside', aside),
  ...below('skills/awkward', awkward),
  'skills/team/grouped/SKILL.md': '---\nname: grouped\ndescription: One of a group.\n---\nGrouped.\n',
  'skills/loose/SKILL.md': 'No frontmatter: read, not advertised.\n',
  'prompts/greet.md':
    '---\ndescription: Greet somebody.\narguments:\n  - name: who\n    description: Whom.\n    required: true\n  - name: greeting\n    default: Hello\n---\n{{greeting}}, {{who}}!\n',
  'commands/fix.md': '---\ndescription: Fix an issue.\nargument-hint: "[number] [how]"\n---\nFix $1: $2\n',
  // biome-ignore lint/suspicious/noTemplateCurlyInString: Copilot's own placeholder
  '.github/prompts/tell.prompt.md': '---\ndescription: Tell a tale.\n---\nTell of ${input:what:a thing}.\n',
  'rules/brief/RULE.md': '---\ndescription: Be brief.\n---\nBe brief.\n',
  'profiles/reader/reader.md': '---\ndescription: Who reads.\n---\nRead.\n',
  'shared/guide.md': '# Guide\n',
};

const grafana: Files = {
  'skills/panels/SKILL.md': '---\nname: panels\ndescription: Panels of dashboards.\n---\nPanels.\n',
};

/** Prompts under the names that the conformance suite asks for. */
const test: Files = {
  'prompts/simple_prompt.md': '---\ndescription: Simple.\n---\nThis is a simple prompt for testing.\n',
  'prompts/prompt_with_arguments.md':
    '---\ndescription: With arguments.\narguments:\n  - name: arg1\n    required: true\n  - name: arg2\n    required: true\n---\nThey are {{arg1}} and {{arg2}}.\n',
};

/** Tokens of the gateway `closed`, by client: `n8n` sees the library grafana alone. */
export const tokens = { all: 'a-token-for-everything', n8n: 'a-token-for-n8n-alone' };

const manifests = `
apiVersion: lyceum.dev/v1alpha1
kind: SkillSource
metadata: {name: atlas}
spec: {url: "file:///atlas", include: {files: ["shared/**"]}}
---
apiVersion: lyceum.dev/v1alpha1
kind: SkillSource
metadata: {name: grafana}
spec: {url: "file:///grafana", tags: [ops]}
---
apiVersion: lyceum.dev/v1alpha1
kind: SkillSource
metadata: {name: test}
spec: {url: "file:///test"}
---
apiVersion: lyceum.dev/v1alpha1
kind: SkillGateway
metadata: {name: open}
spec: {instructions: Read before you act., sources: {names: [atlas, grafana]}}
---
apiVersion: lyceum.dev/v1alpha1
kind: SkillGateway
metadata: {name: conformance}
spec: {sources: {names: [atlas, test]}}
---
apiVersion: lyceum.dev/v1alpha1
kind: SkillGateway
metadata: {name: closed}
spec:
  sources: {names: [atlas, grafana]}
  auth:
    tokens: {secretRef: {name: closed-tokens}}
    scopes: [{token: n8n, library: grafana}]
---
apiVersion: v1
kind: Secret
metadata: {name: closed-tokens}
stringData: {all: ${tokens.all}, n8n: ${tokens.n8n}}
`;

/** MCP URLs of the gateways. */
export interface Gateways {
  /** atlas and grafana. */
  open: string;
  /** The same, with tokens. */
  closed: string;
  /** atlas and the prompts of the conformance suite. */
  conformance: string;
}

/**
 * Starts `lyceum run`, which ends with the owner.
 * @param names of gateways
 * @param write puts manifests and sources into a folder that is made here
 * @returns the MCP URL of each gateway; what they serve is on its way
 */
export async function runLyceum<Name extends string>(
  owner: Owner,
  names: readonly Name[],
  write: (folder: string) => Promise<void>,
): Promise<Record<Name, string>> {
  const folder = await mkdtemp(join(tmpdir(), 'lyceum-clients-'));
  owner.after(() => rm(folder, { recursive: true, force: true }));
  const manifests = join(folder, 'manifests');
  await write(manifests);
  const lyceum = new LyceumProcess(['run', manifests, '--port', '0', '--volume', join(folder, 'volume')]);
  owner.after(() => lyceum[Symbol.asyncDispose]());
  const urls: Partial<Record<Name, string>> = {};
  for (const name of names) {
    urls[name] = await eventually(`${name} is served`, () => {
      if (!lyceum.running) throw new Error(lyceum.said);
      return new RegExp(`Gateway "${name}" serves MCP at (\\S+)`).exec(lyceum.output.join('\n'))?.[1] ?? '';
    });
  }
  return urls as Record<Name, string>;
}

/** Starts all of this, and waits until its gateways serve all of it. */
export async function startLyceum(owner: Owner): Promise<Gateways> {
  const gateways = await runLyceum(owner, ['open', 'closed', 'conformance'], async (folder) => {
    const sources = { ...below('atlas', atlas), ...below('grafana', grafana), ...below('test', test) };
    for (const [path, content] of Object.entries({ 'lyceum.yaml': manifests, ...sources })) {
      await mkdir(dirname(join(folder, path)), { recursive: true });
      await writeFile(join(folder, path), content);
    }
  });
  const authorization = `Bearer ${tokens.all}`;
  for (const [gateway, libraries, headers] of [
    [gateways.open, ['atlas', 'grafana'], {}],
    [gateways.closed, ['atlas', 'grafana'], { authorization }],
    [gateways.conformance, ['atlas', 'test'], {}],
  ] as const) {
    await eventually(`${gateway} serves ${libraries.join(' and ')}`, async () => {
      const { body } = await get(gateway.replace(/mcp$/, 'health'), headers);
      return libraries.every((library) => body.libraries.includes(library));
    });
  }
  return gateways;
}

function below(folder: string, files: Files): Files {
  return Object.fromEntries(Object.entries(files).map(([path, content]) => [`${folder}/${path}`, content]));
}

/** Files by path as the bytes that they are. */
export const bytesOf = (files: Files): Record<string, Buffer> =>
  Object.fromEntries(Object.entries(files).map(([path, content]) => [path, Buffer.from(content as string)]));
