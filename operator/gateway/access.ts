// Who may use a gateway: the tokens of the Secret that its spec names, with the ceilings of its spec. Never open by accident:
// where there is no Secret, nobody gets in.
import type { AuthSetting } from '../../catalogue/index-file.ts';
import type { Cluster } from '../kubernetes/cluster.ts';
import { isKind } from '../kubernetes/kubernetes-error.ts';
import { SourceFault } from '../reasons.ts';
import { namedSecret } from '../reconcile/named-secret.ts';
import type { SkillGatewaySpec } from '../resources/skill-gateway.ts';
import { clientTokens, named } from './tokens.ts';

export interface Access {
  setting: AuthSetting;
  /** The Secret that it is made from, and its resourceVersion; `absent` where it could not be had. */
  secret: { name: string; version: string };
  /** What must be mended in the Secret. */
  fault?: { reason: 'SecretNotFound'; message: string };
  /** What nobody has to mend, but somebody may want to know. */
  remark?: string;
}

/**
 * @param before what was found last: a Secret that cannot be read for a moment keeps the tokens that it had, since content
 * goes on being published then
 * @throws KubernetesError when the API server is away and nothing was found before
 */
export async function accessOf(
  cluster: Pick<Cluster, 'readSecret'>,
  namespace: string,
  { tokens: { secretRef }, scopes }: NonNullable<SkillGatewaySpec['auth']>,
  before: Access | undefined,
): Promise<Access> {
  const { name } = secretRef;
  const ceilings = scopes.map(({ token, ...scope }) => ({ client: token, ...scope }));
  const known = before?.secret.name === name ? before : undefined;
  let found: ReturnType<typeof clientTokens>;
  let version: string;
  try {
    const { data, resourceVersion } = await namedSecret(cluster, namespace, name, field);
    found = clientTokens(data);
    version = resourceVersion;
  } catch (error) {
    if (!(error instanceof SourceFault)) {
      if (known === undefined) throw error;
      return { ...known, setting: { ...known.setting, scopes: ceilings } };
    }
    const kept = isKind(error.cause, 'forbidden') ? known?.setting.tokens : undefined;
    return {
      setting: { tokens: kept ?? [], scopes: ceilings },
      secret: { name, version: 'absent' },
      fault: { reason: 'SecretNotFound', message: error.message },
    };
  }
  const { tokens, complaint } = found;
  const clients = new Set(tokens.map(({ client }) => client));
  const strangers = scopes.map(({ token }) => token).filter((token) => !clients.has(token));
  return {
    setting: { tokens, scopes: ceilings },
    secret: { name, version },
    ...(complaint === undefined
      ? {}
      : { fault: { reason: 'SecretNotFound', message: `Secret "${name}" of ${field}: ${complaint}` } }),
    ...(strangers.length === 0
      ? {}
      : { remark: `spec.auth.scopes names what is no token of Secret "${name}": ${named(strangers)}` }),
  };
}

const field = 'spec.auth.tokens.secretRef';
