// Folders as an author keeps them, harvested by a real operator, and a real server over its volume.
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import type { RunningServer, ServerOptions } from '../../../server/server.ts';
import { eventually } from '../../fixtures/eventually.ts';
import { OperatorFixture } from '../../fixtures/operator.ts';
import { type Files, type Owner, serve } from './gateway.ts';

export interface Harvested {
  operator: OperatorFixture;
  server: RunningServer;
  /** Replaces a file, or removes it, and waits until the operator has published what that makes of the source. */
  write(source: string, files: Record<string, string | Uint8Array | undefined>): Promise<void>;
}

export interface HarvestedSource {
  files: Files;
  /** Beside `url`. */
  spec?: Record<string, unknown>;
}

/**
 * @param gateway the SkillGateway's spec
 * @param secrets by name
 */
export async function serveHarvested(
  test: Owner,
  sources: Record<string, HarvestedSource>,
  gateway: Record<string, unknown> = {},
  options: Partial<ServerOptions> = {},
  secrets: Record<string, Record<string, string>> = {},
): Promise<Harvested> {
  const root = await mkdtemp(join(tmpdir(), 'lyceum-harvested-'));
  test.after(() => rm(root, { recursive: true, force: true }));
  for (const [name, { files }] of Object.entries(sources)) await put(join(root, name), files);
  const operator = await OperatorFixture.start({ fileRoot: root });
  test.after(() => operator[Symbol.asyncDispose]());
  for (const [name, data] of Object.entries(secrets)) operator.cluster.secrets.set(name, data);
  operator.cluster.gateway('agents', { spec: gateway });
  const ask = (name: string, asked: string): void =>
    operator.cluster.source(name, {
      spec: { url: `file:///${name}`, ...sources[name]!.spec },
      annotations: { 'lyceum.dev/requestedAt': asked },
    });
  const published = (name: string, asked: string): Promise<unknown> =>
    eventually(
      `${name} is published`,
      () => [
        operator.cluster.condition('sources', name, 'Ready'),
        operator.cluster.status('sources', name)?.lastHandledReconcileAt,
      ],
      ([ready, handled]) => ready === 'True/Succeeded' && handled === asked,
    );
  for (const name of Object.keys(sources)) ask(name, '1');
  for (const name of Object.keys(sources)) await published(name, '1');
  await eventually('the gateway serves them all', async () => {
    const { sources: rows } = await operator.index();
    return Object.keys(sources).every((name) => rows.some((row) => row.name === name && row.catalogue !== undefined));
  });
  let asked = 1;
  const server = await serve(test, { root: operator.volume }, { namespace: 'default', ...options });
  return {
    operator,
    server,
    async write(source, files) {
      await put(join(root, source), files);
      asked += 1;
      ask(source, String(asked));
      await published(source, String(asked));
    },
  };
}

async function put(folder: string, files: Record<string, string | Uint8Array | undefined>): Promise<void> {
  for (const [path, content] of Object.entries(files)) {
    const target = join(folder, path);
    await mkdir(dirname(target), { recursive: true });
    if (content === undefined) await rm(target, { recursive: true });
    else await writeFile(target, content);
  }
}
