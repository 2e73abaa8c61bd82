// The container of a server: its command, ports, probes and what it may not do. Pure.
import { parseQuantity } from '../../resources/quantities.ts';
import type { SkillGatewaySpec } from '../../resources/skill-gateway.ts';
import type { Labels } from './child-metadata.ts';
import { filled } from './filled.ts';
import { liveEnvironment, liveMounts, liveOptions } from './live-secrets.ts';
import { identityMounts, operatorOptions } from './operator-identity.ts';
import type { PodSettings } from './pod-settings.ts';
import { mcpPort, metricsPort } from './ports.ts';
import { restricted, volumePath } from './restricted.ts';

export function serverContainer(
  namespace: string,
  name: string,
  { resources }: SkillGatewaySpec,
  settings: PodSettings,
  hasLive: boolean,
): Record<string, unknown> {
  const { image, imagePullPolicy, operator, fetching } = settings;
  const memory = resources.limits?.memory;
  return filled({
    name: 'server',
    image,
    imagePullPolicy,
    args: [
      ...['server', '--volume', volumePath, '--namespace', namespace, '--gateway', name],
      ...operatorOptions(operator),
      ...(hasLive ? liveOptions(fetching) : []),
    ],
    env: [
      ...(memory === undefined ? [] : [{ name: 'NODE_OPTIONS', value: heapOptions(memory) }]),
      ...(hasLive ? liveEnvironment(fetching) : []),
    ],
    ports: [
      { name: 'mcp', containerPort: mcpPort, protocol: 'TCP' },
      { name: 'metrics', containerPort: metricsPort, protocol: 'TCP' },
    ],
    resources: filled({ requests: amounts(resources.requests), limits: amounts(resources.limits) }),
    // On a busy node a server takes long to start; it must not be ended for that.
    startupProbe: { httpGet: { path: '/livez', port: 'mcp' }, periodSeconds: 1, failureThreshold: 60 },
    readinessProbe: { httpGet: { path: '/readyz', port: 'mcp' }, periodSeconds: 2, timeoutSeconds: 2 },
    livenessProbe: { httpGet: { path: '/livez', port: 'mcp' }, periodSeconds: 10, timeoutSeconds: 5 },
    // Until every proxy has heard that the pod is going, it serves on.
    lifecycle: { preStop: { sleep: { seconds: 5 } } },
    securityContext: restricted,
    volumeMounts: [
      { name: 'volume', mountPath: volumePath, readOnly: true },
      ...identityMounts(settings),
      ...(hasLive ? liveMounts(fetching) : []),
    ],
  });
}

/** Node does not look at the limit of its container: it is told three quarters of it, the rest is for what is not heap. */
function heapOptions(memory: string | number): string {
  const mebibytes = Math.floor((parseQuantity(String(memory)) * 0.75) / 2 ** 20);
  return `--max-old-space-size=${Math.max(1, mebibytes)} --max-semi-space-size=16`;
}

const amounts = (given: Record<string, string | number | undefined> | undefined): Labels =>
  Object.fromEntries(
    Object.entries(given ?? {}).flatMap(([what, amount]) => (amount === undefined ? [] : [[what, String(amount)]])),
  );
