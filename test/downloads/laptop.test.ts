// `lyceum run`: downloads are counted and kept without a cluster.
import assert from 'node:assert/strict';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { eventually } from '../fixtures/eventually.ts';
import { LyceumProcess } from '../fixtures/lyceum-process.ts';
import { callTool } from '../server/support/mcp.ts';
import { downloadsOn, installsIn } from './support.ts';

const manifests = `
apiVersion: v1
kind: ConfigMap
metadata: {name: pack}
data:
  skills__one__SKILL.md: "---\\nname: one\\ndescription: One.\\n---\\nDo it.\\n"
---
apiVersion: lyceum.dev/v1alpha1
kind: SkillSource
metadata: {name: pack}
spec: {url: "configmap://pack"}
---
apiVersion: lyceum.dev/v1alpha1
kind: SkillGateway
metadata: {name: agents}
`;

let folder: string;
before(async () => {
  folder = await mkdtemp(join(tmpdir(), 'lyceum-downloads-'));
  await writeFile(join(folder, 'lyceum.yaml'), manifests);
});
after(() => rm(folder, { recursive: true, force: true }));

test('what was counted last is kept when it is stopped, and told by the next run', async () => {
  const volume = join(folder, '.volume');
  for (const run of [1, 2]) {
    await using process = new LyceumProcess(['run', folder, '--port', '0', '--volume', volume]);
    const url = await eventually(
      'the URL',
      () => /serves MCP at (\S+)\/mcp/.exec(process.output.join('\n'))?.[1] ?? '',
    );
    const list = async (): Promise<number> => {
      const { body } = await callTool(url, 'list_skills');
      return JSON.parse(body.result.content[0].text)[0]?.downloads;
    };
    await eventually('the skill', async () => (await list()) !== undefined);
    assert.equal(await list(), run - 1);
    await callTool(url, 'install_skill', { skill: 'one' });
    assert.equal(await list(), run);
    process.kill('SIGTERM');
    assert.equal(await process.ended(), 0, process.said);
    assert.deepEqual(installsIn(await downloadsOn(volume, 'default/agents')), { 'skill pack/one': run });
  }
});
