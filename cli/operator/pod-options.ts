// The options of `lyceum operator` that say what the pods of gateways are made of.
import { type Command, InvalidArgumentError } from 'commander';
import type { PodSettings } from '../../operator/gateway/render.ts';
import { list, option } from '../options.ts';

export interface PodFlags {
  volumeClaim?: string;
  gatewayImage?: string;
  gatewayImagePullPolicy?: 'Always' | 'IfNotPresent' | 'Never';
  gatewayImagePullSecrets?: string[];
  operatorNamespace?: string;
  keepTogether?: Record<string, string>;
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
    );
}

/**
 * @param ownNamespace the namespace that the operator runs in
 * @throws Error when the image is missing
 */
export function podSettings(flags: PodFlags, ownNamespace: string): PodSettings | undefined {
  const { volumeClaim, gatewayImage } = flags;
  if (volumeClaim === undefined) return undefined;
  if (gatewayImage === undefined) throw new Error('--volume-claim needs --gateway-image, the image of the pods');
  return {
    volumeClaim,
    image: gatewayImage,
    imagePullPolicy: flags.gatewayImagePullPolicy,
    imagePullSecrets: flags.gatewayImagePullSecrets ?? [],
    namespace: flags.operatorNamespace ?? ownNamespace,
    keepTogether: flags.keepTogether,
  };
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
