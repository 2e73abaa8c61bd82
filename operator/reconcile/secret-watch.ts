// Notices changed Secrets: the operator may `get` the Secrets that sources name, and never lists or watches them.
import { setTimeout as pause } from 'node:timers/promises';
import type { Logger } from 'pino';
import type { Cluster, ObjectKey } from '../kubernetes/cluster.ts';
import { keyOf } from '../kubernetes/cluster.ts';
import { parseSkillSource } from '../resources/parse.ts';

export interface SecretWatchOptions {
  cluster: Cluster;
  /** resourceVersion that a source's last look used, `absent` for none, undefined before its first look. */
  usedVersion(source: ObjectKey): Promise<string | undefined>;
  /** Told of each source whose Secret is not the one its last look used. */
  changed(source: ObjectKey): void;
  log: Logger;
}

/** Seconds between two rounds: a changed Secret is noticed within 30 s. */
export const secretRoundSeconds = 20;

/** Rounds until the signal aborts. Never rejects. */
export async function watchSecrets(options: SecretWatchOptions, signal: AbortSignal): Promise<void> {
  while (!signal.aborted) {
    await pause(secretRoundSeconds * 1000, undefined, { signal }).catch(() => undefined);
    if (signal.aborted) return;
    await secretRound(options);
  }
}

/** One `get` for each Secret that is named, however many sources name it. One that cannot be read leaves out no other. */
export async function secretRound({ cluster, usedVersion, changed, log }: SecretWatchOptions): Promise<void> {
  const users = new Map<string, { namespace: string; name: string; sources: ObjectKey[] }>();
  for (const source of cluster.sources.list()) {
    const parsed = parseSkillSource(source);
    if (!parsed.ok || parsed.spec.suspend || parsed.spec.secretRef === undefined) continue;
    const { namespace } = source.metadata;
    const { name } = parsed.spec.secretRef;
    const secret = users.get(`${namespace}/${name}`) ?? { namespace, name, sources: [] };
    secret.sources.push(keyOf(source));
    users.set(`${namespace}/${name}`, secret);
  }
  for (const { namespace, name, sources } of users.values()) {
    let version: string;
    try {
      version = (await cluster.readSecret(namespace, name))?.resourceVersion ?? 'absent';
    } catch (error) {
      const why = error instanceof Error ? error.message : 'unknown';
      log.warn({ namespace, secret: name, error: why }, 'a Secret could not be read');
      continue;
    }
    for (const source of sources) {
      const used = await usedVersion(source);
      if (used !== undefined && used !== version) changed(source);
    }
  }
}
