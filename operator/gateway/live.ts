// Which sources are read live, and the Secrets that the servers' pods need for that. Pure.
import type { KubernetesObject } from '../kubernetes/cluster.ts';
import { parseSkillSource } from '../resources/parse.ts';
import type { SkillSourceSpec } from '../resources/skill-source.ts';
import type { LiveSecret } from './children/pod-settings.ts';

/** The Secret of a source that is read live; undefined for one that is not, or not now. */
export const liveSecretOf = ({ cache, secretRef, suspend }: SkillSourceSpec): string | undefined =>
  cache === 'Live' && !suspend ? secretRef?.name : undefined;

/** From the specs alone, so that a volume that cannot be read changes no pod. */
export function liveSecretsOf(sources: readonly KubernetesObject[]): LiveSecret[] {
  return sources.flatMap((source) => {
    const parsed = parseSkillSource(source);
    const secret = parsed.ok ? liveSecretOf(parsed.spec) : undefined;
    return secret === undefined ? [] : [{ source: source.metadata.name, secret }];
  });
}
