// `lyceum run` with a gateway that asks for tokens: Secrets in manifests, values from the environment, nothing told.
import assert from 'node:assert/strict';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { eventually } from '../fixtures/eventually.ts';
import { LyceumProcess } from '../fixtures/lyceum-process.ts';

const token = 'canary-0123456789abcdef';
const written = 'canary-fedcba9876543210';

let folder: string;
before(async () => {
  folder = await mkdtemp(join(tmpdir(), 'lyceum-tokens-'));
});
after(() => rm(folder, { recursive: true, force: true }));

const manifests = `
apiVersion: v1
kind: ConfigMap
metadata: {name: rules}
data: {skills__style__SKILL.md: "---\\nname: style\\ndescription: How to write.\\n---\\nBriefly.\\n"}
---
apiVersion: lyceum.dev/v1alpha1
kind: SkillSource
metadata: {name: rules}
spec: {url: "configmap://rules"}
---
apiVersion: lyceum.dev/v1alpha1
kind: SkillGateway
metadata: {name: agents}
spec:
  auth:
    tokens: {secretRef: {name: agents-tokens}}
    scopes:
      - {token: n8n, library: elsewhere}
      - {token: gone, library: elsewhere}
`;
const secret = (values: string) =>
  `apiVersion: v1\nkind: Secret\nmetadata: {name: agents-tokens}\nstringData: ${values}\n`;

async function started(name: string, secretManifest: string): Promise<LyceumProcess> {
  const root = join(folder, name);
  await mkdir(root);
  await writeFile(join(root, 'lyceum.yaml'), manifests);
  await writeFile(join(root, 'secret.yaml'), secretManifest);
  return new LyceumProcess(['run', root, '--port', '0', '--volume', `${root}-volume`, '--log-level', 'trace'], {
    env: { CLAUDE_TOKEN: token },
  });
}

const printed = (process: LyceumProcess, pattern: RegExp): Promise<RegExpExecArray> =>
  eventually(String(pattern), () => pattern.exec(process.output.join('\n'))!);

const list = (url: string, authorization?: string) =>
  fetch(url, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...(authorization === undefined ? {} : { authorization }) },
    body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'resources/list' }),
  });

test('a token of the environment lets in, below its ceiling; what is printed has a place for it and not the token', async () => {
  await using process = await started('tokens', secret(`{claude: $(CLAUDE_TOKEN), n8n: ${written}}`));
  const url = (await printed(process, /serves MCP at (\S+)/))[1]!;
  await eventually('the skill', async () =>
    (await (await list(url, `Bearer ${token}`)).text()).includes('skill://rules'),
  );
  assert.equal((await list(url)).status, 401);
  assert.equal((await list(url, 'Bearer wrong-0123456789abcdef')).status, 401);
  const narrow = await list(url, `Bearer ${written}`);
  assert.equal(narrow.status, 200);
  assert.doesNotMatch(await narrow.text(), /skill:/);
  const output = process.output.join('\n');
  assert.match(output, /bearer token: write a value of Secret "agents-tokens" where TOKEN stands/);
  assert.match(output, /claude mcp add .* --header "Authorization: Bearer TOKEN"$/m);
  assert.match(output, /"headers": \{"Authorization": "Bearer TOKEN"\}/);
  assert.match(output, /codex mcp add .* --bearer-token-env-var AGENTS_TOKEN$/m);
  assert.match(
    output,
    /For Codex it stands in the environment variable AGENTS_TOKEN; a browser takes it as the password\.$/m,
  );
  await printed(process, /^! SkillGateway agents: .*spec\.auth\.scopes .* gone$/m);
  process.kill('SIGTERM');
  assert.equal(await process.ended(), 0);
  assert.ok(process.log.length > 0);
  assert.doesNotMatch(process.said, /canary/);
});

test('a variable that is not set is told, and that client alone cannot get in', async () => {
  await using process = await started('unset', secret(`{claude: $(NOT_SET_TOKEN), n8n: ${written}}`));
  const url = (await printed(process, /serves MCP at (\S+)/))[1]!;
  await printed(process, /^! Secret agents-tokens: key claude names the environment variable NOT_SET_TOKEN/m);
  assert.equal((await list(url, `Bearer ${written}`)).status, 200);
  assert.equal((await list(url, 'Bearer $(NOT_SET_TOKEN)')).status, 401);
});

test('values that are no tokens, and no Secret at all, are told with what to do; nobody gets in', async () => {
  await using short = await started('short', secret('{claude: canary}'));
  const url = (await printed(short, /serves MCP at (\S+)/))[1]!;
  await printed(short, /^! SkillGateway agents: SecretNotFound: .*the value of claude is no token: write 16 to 1,024/m);
  for (const authorization of [undefined, 'Bearer canary']) assert.equal((await list(url, authorization)).status, 401);
  assert.doesNotMatch(short.said, /canary/);

  await using none = await started('none', '');
  const open = (await printed(none, /serves MCP at (\S+)/))[1]!;
  await printed(none, /^! SkillGateway agents: SecretNotFound: Secret "agents-tokens" is not there .*create it/m);
  assert.equal((await list(open)).status, 401);
});
