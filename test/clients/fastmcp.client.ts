// FastMCP's client and its helpers for skills: what they download is what the author wrote, byte for byte.
import assert from 'node:assert/strict';
import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, relative } from 'node:path';
import { before, describe, it } from 'node:test';
import { digestOf } from '../../catalogue/digest.ts';
import { lifetime, type Owner } from '../server/support/gateway.ts';
import { aside, awkward, bytesOf, type Gateways, startLyceum, tokens } from './support/lyceum.ts';
import { program, runProgram } from './support/programs.ts';

const script = join(import.meta.dirname, 'programs/fastmcp/skills.py');

interface Seen {
  listed: Record<string, string>;
  /** Size and digest by path, by skill. */
  manifests: Record<string, Record<string, [number, string]>>;
  advertised: string[];
  resources: string[];
  prompts: string[];
}

describe('FastMCP', () => {
  const suite = lifetime();
  let python: string;
  let gateways: Gateways;
  before(async () => {
    [python, gateways] = await Promise.all([program('fastmcp'), startLyceum(suite)]);
  });

  async function look(owner: Owner, url: string, token?: string): Promise<{ seen: Seen; folder: string }> {
    const folder = await mkdtemp(join(tmpdir(), 'lyceum-fastmcp-'));
    owner.after(() => rm(folder, { recursive: true, force: true }));
    const { code, output, errors } = await runProgram(python, [script, url, folder, ...(token ? [token] : [])], {
      environment: { HOME: folder, PYTHONUTF8: '1', PYTHONDONTWRITEBYTECODE: '1' },
    });
    assert.equal(code, 0, errors);
    return { seen: JSON.parse(output) as Seen, folder };
  }

  it('list_skills, get_skill_manifest and download_skill work on the full listing, byte for byte', async (test) => {
    const { seen, folder } = await look(test, `${gateways.open}?skills=full`);
    assert.deepEqual(seen.listed, {
      'atlas/aside': 'What stands aside — “apart”, in Ünïcode.',
      'atlas/awkward': 'Awkward names of files.',
      'atlas/grouped': 'One of a group.',
      'atlas/loose': '',
      'grafana/panels': 'Panels of dashboards.',
    });
    for (const [name, files] of Object.entries({ 'atlas/aside': bytesOf(aside), 'atlas/awkward': bytesOf(awkward) })) {
      const manifest = Object.entries(files).map(([path, bytes]) => [path, [bytes.length, digestOf(bytes)]]);
      assert.deepEqual(seen.manifests[name], Object.fromEntries(manifest), name);
      assert.deepEqual(await filesBelow(join(folder, 'helpers', name)), files, name);
    }
  });

  it('list_skills and read_skill of the Skills extension work on any listing, byte for byte', async (test) => {
    const { seen, folder } = await look(test, gateways.open);
    assert.deepEqual(
      seen.advertised,
      ['atlas/aside', 'atlas/awkward', 'atlas/grouped', 'grafana/panels'].map((name) => `skill://${name}/SKILL.md`),
    );
    for (const [name, files] of Object.entries({ 'atlas/aside': bytesOf(aside), 'atlas/awkward': bytesOf(awkward) }))
      assert.deepEqual(await filesBelow(join(folder, 'extension', name)), files, name);
  });

  it('the default listing gives the helpers nothing, and the client indexes and prompts', async (test) => {
    const { seen } = await look(test, gateways.open);
    assert.deepEqual(seen.listed, {});
    assert.ok(seen.resources.includes('skill://atlas') && seen.resources.includes('skill://atlas/_rules'));
    assert.deepEqual(seen.prompts, ['atlas_fix', 'atlas_greet', 'atlas_tell']);
  });

  it('sees what its token lets it see', async (test) => {
    const { seen } = await look(test, `${gateways.closed}?skills=full`, tokens.n8n);
    assert.deepEqual(Object.keys(seen.listed), ['grafana/panels']);
    assert.deepEqual(seen.advertised, ['skill://grafana/panels/SKILL.md']);
    assert.deepEqual(seen.prompts, []);
  });
});

async function filesBelow(folder: string): Promise<Record<string, Buffer>> {
  const files: Record<string, Buffer> = {};
  for (const entry of await readdir(folder, { recursive: true, withFileTypes: true })) {
    if (!entry.isFile()) continue;
    const path = join(entry.parentPath, entry.name);
    files[relative(folder, path)] = await readFile(path);
  }
  return files;
}
