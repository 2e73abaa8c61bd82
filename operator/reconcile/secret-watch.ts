// Notices changed Secrets by asking for each of them: the operator may get the Secrets that are named, and never lists or
// watches them.
import { setTimeout as pause } from 'node:timers/promises';
import type { Logger } from 'pino';
import type { Cluster, ObjectKey } from '../kubernetes/cluster.ts';
import { keyOf } from '../kubernetes/cluster.ts';
import { parseSkillGateway, parseSkillSource } from '../resources/parse.ts';

/** A custom resource that names a Secret of its namespace. */
export interface SecretUse {
  user: ObjectKey;
  namespace: string;
  secret: string;
}

/** Those that name Secrets, all of one kind. */
export interface SecretUsers {
  uses(): SecretUse[];
  /** resourceVersion that a user has used last, `absent` for none, undefined before it has. */
  usedVersion(user: ObjectKey): string | undefined | Promise<string | undefined>;
  /** Told of each user whose Secret is not the one that it has used last. */
  changed(user: ObjectKey): void;
}

export interface SecretWatchOptions {
  cluster: Pick<Cluster, 'readSecret'>;
  users: readonly SecretUsers[];
  log: Logger;
}

export const secretsOfSources = ({ sources }: Pick<Cluster, 'sources'>): SecretUse[] =>
  sources.list().flatMap((source) => {
    const parsed = parseSkillSource(source);
    if (!parsed.ok || parsed.spec.suspend || parsed.spec.secretRef === undefined) return [];
    return [{ user: keyOf(source), namespace: source.metadata.namespace, secret: parsed.spec.secretRef.name }];
  });

export const secretsOfGateways = ({ gateways }: Pick<Cluster, 'gateways'>): SecretUse[] =>
  gateways.list().flatMap((gateway) => {
    const parsed = parseSkillGateway(gateway);
    if (!parsed.ok || parsed.spec.auth === undefined) return [];
    const { name } = parsed.spec.auth.tokens.secretRef;
    return [{ user: keyOf(gateway), namespace: gateway.metadata.namespace, secret: name }];
  });

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

/** One `get` for each Secret that is named, however many name it. One that cannot be read leaves out no other. */
export async function secretRound({ cluster, users, log }: SecretWatchOptions): Promise<void> {
  const named = new Map<string, { namespace: string; secret: string; by: { users: SecretUsers; user: ObjectKey }[] }>();
  for (const kind of users) {
    for (const { user, namespace, secret } of kind.uses()) {
      const key = `${namespace}/${secret}`;
      const one = named.get(key) ?? { namespace, secret, by: [] };
      one.by.push({ users: kind, user });
      named.set(key, one);
    }
  }
  for (const { namespace, secret, by } of named.values()) {
    let version: string;
    try {
      version = (await cluster.readSecret(namespace, secret))?.resourceVersion ?? 'absent';
    } catch (error) {
      const why = error instanceof Error ? error.message : 'unknown';
      log.warn({ namespace, secret, error: why }, 'a Secret could not be read');
      continue;
    }
    for (const { users: kind, user } of by) {
      const used = await kind.usedVersion(user);
      if (used !== undefined && used !== version) kind.changed(user);
    }
  }
}
