// The options of `lyceum operator` that say what the pods of gateways are made of.
import { type Command, InvalidArgumentError } from 'commander';
import type { ExtraCa, PodSettings } from '../../operator/gateway/children/pod-settings.ts';
import type { ObjectMeta } from '../../operator/kubernetes/cluster.ts';
import { list, option } from '../options.ts';
import type { SourceFlags } from '../source-options.ts';

export interface PodFlags {
  volumeClaim?: string;
  gatewayImage?: string;
  gatewayImagePullPolicy?: 'Always' | 'IfNotPresent' | 'Never';
  gatewayImagePullSecrets?: string[];
  operatorNamespace?: string;
  keepTogether?: Record<string, string>;
  sidecarGateway?: string;
  callersUrl?: string;
  callersCaSecret?: string;
  gatewayExtraCa?: ExtraCa | '';
  sync?: boolean;
}

export function addPodOptions(command: Command): Command {
  return command
    .addOption(
      option(
        '--volume-claim <name>',
        'PersistentVolumeClaim to the volume, in the namespace of the operator: gateways there get pods that mount it; default: no pods are started',
      ),
    )
    .addOption(option('--gateway-image <image>', 'image of the pods of gateways; required with --volume-claim'))
    .addOption(
      option(
        '--gateway-image-pull-policy <policy>',
        "when that image is pulled; default: as Kubernetes decides by the image's tag",
      ).choices(['Always', 'IfNotPresent', 'Never']),
    )
    .addOption(
      option(
        '--gateway-image-pull-secrets <names>',
        "Secrets for that image's registry, comma-separated, besides spec.imagePullSecrets",
      ).argParser(list),
    )
    .addOption(option('--operator-namespace <name>', "namespace of the claim; default: the operator's own"))
    .addOption(
      option(
        '--keep-together <labels>',
        'labels such as a=b,c=d: pods of gateways are kept on the node of the pods that have them, for a volume that one node mounts at a time',
      ).argParser(labels),
    )
    .addOption(
      option(
        '--callers-url <url>',
        "where servers in pods of gateways reach the operator's port for callers, https://; default: they do not",
      ).argParser(httpsUrl),
    )
    .addOption(
      option(
        '--callers-ca-secret <name>',
        'Secret whose ca.crt signed the certificate of that port, in the namespace of the claim; required with --callers-url',
      ),
    )
    .addOption(
      option(
        '--gateway-extra-ca <kind/name/key>',
        'configmap/NAME/KEY or secret/NAME/KEY, in the namespace of the claim, with the certificates of --extra-ca-file: servers that read Live sources mount it; default: they do not trust them',
      ).argParser(extraCa),
    )
    .addOption(
      option(
        '--sync',
        'gateways of namespaces that the volume does not reach, and those that ask for it, get pods that copy the catalogue from the port for callers; needs --callers-url and --tls-folder with ca.crt',
      ),
    )
    .addOption(
      option(
        '--sidecar-gateway <namespace/name>',
        "the gateway that a server in the operator's own pod serves, behind a Service of its name: its status tells the URL",
      ),
    );
}

/**
 * @param ownNamespace the namespace that the operator runs in
 * @param environment where the proxy's variables are looked up, in either case
 * @param sync with --sync, by what copies know the operator
 * @throws Error when the image is missing, or one of the two that belong together
 */
export function podSettings(
  flags: PodFlags & Pick<SourceFlags, 'denyCidr'>,
  ownNamespace: string,
  environment: NodeJS.ProcessEnv = process.env,
  sync?: PodSettings['sync'],
): PodSettings | undefined {
  const { volumeClaim, gatewayImage, callersUrl, callersCaSecret } = flags;
  if (!volumeClaim) return undefined;
  if (!gatewayImage) throw new Error('--volume-claim needs --gateway-image, the image of the pods');
  if (callersUrl && !callersCaSecret)
    throw new Error('--callers-url needs --callers-ca-secret, whose ca.crt it is known by');
  return {
    volumeClaim,
    image: gatewayImage,
    imagePullPolicy: flags.gatewayImagePullPolicy,
    imagePullSecrets: flags.gatewayImagePullSecrets ?? [],
    namespace: flags.operatorNamespace ?? ownNamespace,
    keepTogether: flags.keepTogether,
    operator: callersUrl && callersCaSecret ? { url: callersUrl, caSecret: callersCaSecret } : undefined,
    ...(sync === undefined ? {} : { sync }),
    ...fetchingOf(flags.denyCidr ?? [], proxyVariables(environment), flags.gatewayExtraCa || undefined),
  };
}

const fetchingOf = (
  deniedCidrs: readonly string[],
  environment: Record<string, string>,
  extraCa: ExtraCa | undefined,
): Pick<PodSettings, 'fetching'> =>
  deniedCidrs.length === 0 && Object.keys(environment).length === 0 && extraCa === undefined
    ? {}
    : { fetching: { deniedCidrs, environment, ...(extraCa === undefined ? {} : { extraCa }) } };

/** The proxy of the installation, which holds for servers that fetch as well. One with a password in it stays here. */
const proxyVariables = (environment: NodeJS.ProcessEnv): Record<string, string> =>
  Object.fromEntries(
    ['HTTPS_PROXY', 'HTTP_PROXY', 'NO_PROXY'].flatMap((name) => {
      const value = environment[name] || environment[name.toLowerCase()];
      return value && !value.includes('@') ? [[name, value]] : [];
    }),
  );

/** The URL of the gateway that a server beside the operator serves: its Service has the name and the server's own port. */
export const sidecarUrl =
  ({ sidecarGateway }: PodFlags) =>
  ({ metadata: { namespace, name } }: { metadata: Pick<ObjectMeta, 'namespace' | 'name'> }): string | undefined =>
    sidecarGateway === `${namespace}/${name}` ? `http://${name}.${namespace}.svc.cluster.local:8000/mcp` : undefined;

function httpsUrl(text: string): string {
  if (text !== '' && URL.parse(text)?.protocol !== 'https:')
    throw new InvalidArgumentError('a URL that begins with https://');
  return text;
}

/** `configmap/NAME/KEY` or `secret/NAME/KEY`; empty for none */
function extraCa(text: string): ExtraCa | '' {
  if (text === '') return '';
  const [, kind, name, key] = /^(configmap|secret)\/([a-z0-9][a-z0-9.-]*)\/([-._a-zA-Z0-9]+)$/.exec(text) ?? [];
  if (kind === undefined || name === undefined || key === undefined) {
    throw new InvalidArgumentError('it is written as configmap/NAME/KEY or secret/NAME/KEY');
  }
  return { kind: kind === 'secret' ? 'secret' : 'configMap', name, key };
}

const label = /^([a-z0-9][a-z0-9.-]*\/)?[A-Za-z0-9][A-Za-z0-9_.-]*=[A-Za-z0-9_.-]*$/;

/** `a=b,c=d` */
function labels(text: string): Record<string, string> {
  const parts = text.split(',').map((part) => part.trim());
  if (!parts.every((part) => label.test(part))) {
    throw new InvalidArgumentError('labels are written as key=value, comma-separated');
  }
  return Object.fromEntries(parts.map((part) => part.split('=') as [string, string]));
}
