// Batches of counts as servers send them.
import { randomUUID } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { DownloadsBatch, DownloadsFile } from '../../catalogue/downloads-file.ts';
import { downloadsPath } from '../../catalogue/layout.ts';

/** One run of a server, which counts its batches. */
export class Replica {
  readonly id = randomUUID();
  #sequence = 0;

  /** @param installs by artifact */
  batch(installs: Record<string, number>): DownloadsBatch {
    const counts = Object.entries(installs).map(([artifact, install]) => ({ artifact, install, archive: 0 }));
    return { replica: this.id, sequence: ++this.#sequence, counts };
  }
}

/** The file of a gateway, `<namespace>/<name>`. */
export async function downloadsOn(volume: string, gateway: string): Promise<DownloadsFile> {
  const [namespace, name] = gateway.split('/') as [string, string];
  return JSON.parse(await readFile(join(volume, downloadsPath(namespace, name)), 'utf8'));
}

/** How often each artifact was installed. */
export const installsIn = ({ artifacts }: Pick<DownloadsFile, 'artifacts'>): Record<string, number> =>
  Object.fromEntries(Object.entries(artifacts).map(([artifact, { install }]) => [artifact, install]));
