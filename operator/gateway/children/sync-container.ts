// The container that copies the catalogue for the server beside it, in a pod without the volume. Pure.
import { parseQuantity } from '../../resources/quantities.ts';
import type { SkillGatewaySpec } from '../../resources/skill-gateway.ts';
import { filled } from './filled.ts';
import { identityMounts, operatorOptions } from './operator-identity.ts';
import type { PodSettings } from './pod-settings.ts';
import { syncPort } from './ports.ts';
import { restricted, volumePath } from './restricted.ts';

/** Of the folder's limit: beyond that the kubelet ends the pod, so the copy stops before. */
const shareOfLimit = 0.9;

/**
 * It starts before the server and runs as long. The server waits for the first copy, or for half a minute: then it
 * starts without, and says itself that it has nothing.
 */
export function syncContainers(
  { namespace, name }: { namespace: string; name: string },
  { sync: { sizeLimit } }: SkillGatewaySpec,
  settings: PodSettings,
): object[] {
  if (settings.sync === undefined) return [];
  const bytes = Math.floor(parseQuantity(String(sizeLimit)) * shareOfLimit);
  return [
    filled({
      name: 'sync',
      image: settings.image,
      imagePullPolicy: settings.imagePullPolicy,
      restartPolicy: 'Always',
      args: [
        ...['sync', '--volume', volumePath, '--namespace', namespace, '--gateway', name],
        ...['--size-limit', String(bytes)],
        ...operatorOptions(settings.operator),
      ],
      env: [{ name: 'NODE_OPTIONS', value: '--max-old-space-size=256 --max-semi-space-size=16' }],
      ports: [{ name: 'sync', containerPort: syncPort, protocol: 'TCP' }],
      resources: { requests: { cpu: '10m', memory: '64Mi' }, limits: { memory: '512Mi' } },
      startupProbe: { httpGet: { path: '/startz', port: 'sync' }, periodSeconds: 1, failureThreshold: 90 },
      livenessProbe: { httpGet: { path: '/healthz', port: 'sync' }, periodSeconds: 10, timeoutSeconds: 5 },
      securityContext: restricted,
      volumeMounts: [{ name: 'volume', mountPath: volumePath }, ...identityMounts(settings)],
    }),
  ];
}
