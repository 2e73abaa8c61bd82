// How a server reaches the operator, and shows who it is: options, volume and mount. Pure.
import { audience } from '../../callers/token.ts';
import type { PodSettings } from './pod-settings.ts';

const identityPath = '/var/run/secrets/lyceum.dev/operator';
const annotation = 'lyceum.dev/operator-ca';
/** Kubernetes renews a token when a fifth of this is left. */
const tokenSeconds = 3600;

export const operatorOptions = (operator: PodSettings['operator']): string[] =>
  operator === undefined
    ? []
    : [
        ...['--operator-url', operator.url],
        ...['--operator-ca', `${identityPath}/ca.crt`, '--operator-token', `${identityPath}/token`],
      ];

/**
 * By what a server is known to the operator: a token of its pod for nobody else, which is good for nothing at the API
 * server. The authority's certificate is optional, so that pods start while no operator is installed.
 */
export function identityVolumes({ operator }: PodSettings): object[] {
  if (operator === undefined) return [];
  const token = { audience, expirationSeconds: tokenSeconds, path: 'token' };
  return [{ name: 'operator', projected: { sources: [{ serviceAccountToken: token }, authorityOf(operator)] } }];
}

/** A Secret reaches the pods of its own namespace alone: those of others read the certificate from their annotation. */
const authorityOf = ({ caSecret }: NonNullable<PodSettings['operator']>): object =>
  caSecret === undefined
    ? { downwardAPI: { items: [{ path: 'ca.crt', fieldRef: { fieldPath: `metadata.annotations['${annotation}']` } }] } }
    : { secret: { name: caSecret, items: [{ key: 'ca.crt', path: 'ca.crt' }], optional: true } };

export const identityAnnotations = ({ operator }: PodSettings): Record<string, string> =>
  operator?.authority === undefined ? {} : { [annotation]: operator.authority };

export const identityMounts = ({ operator }: PodSettings): object[] =>
  operator === undefined ? [] : [{ name: 'operator', mountPath: identityPath, readOnly: true }];
