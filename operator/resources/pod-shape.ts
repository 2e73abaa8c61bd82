// The fields of a SkillGateway that give its pods and its Service their shape. Nothing here gives a pod more rights.
import { z } from 'zod';
import { affinitySchema } from './affinity.ts';
import { annotations, intOrString, labels, longest, text } from './fields.ts';
import { labelSelector } from './label-selector.ts';

const amounts = (what: string) =>
  z.object({
    cpu: intOrString(32).optional().describe(`CPUs ${what}: 500m, 1 or 1.5.`),
    memory: intOrString(32).optional().describe(`Memory ${what}: 256Mi, 1Gi.`),
    'ephemeral-storage': intOrString(32)
      .optional()
      .describe(`Disk for what is written beside volumes, ${what}: 64Mi, 1Gi.`),
  });

const resourcesSchema = z.object({
  requests: amounts('that a node must have free').optional().describe('What is set aside for each pod.'),
  limits: amounts('that a pod gets at most')
    .optional()
    .describe('The most that each pod gets. The server is told three quarters of the memory as the size of its heap.'),
});

const tolerationSchema = z
  .object({
    key: text(317).optional().describe('The key of the taint. Left out, with Exists: every taint.'),
    operator: z.enum(['Equal', 'Exists']).default('Equal').describe('Whether the value counts or the key alone.'),
    value: text(63).optional().describe('The value of the taint, for Equal.'),
    effect: z
      .enum(['NoSchedule', 'PreferNoSchedule', 'NoExecute'])
      .optional()
      .describe('The effect of the taint. Left out: all of them.'),
    tolerationSeconds: z.int().min(0).max(31_536_000).optional().describe('For NoExecute: how long a pod stays.'),
  })
  .describe('One taint that the pods bear.');

const spreadSchema = z
  .object({
    maxSkew: z.int().min(1).max(1000).describe('How many pods more than in the emptiest place one may have.'),
    topologyKey: text(317)
      .min(1)
      .describe('The label of nodes that says what one place is: topology.kubernetes.io/zone.'),
    whenUnsatisfiable: z
      .enum(['DoNotSchedule', 'ScheduleAnyway'])
      .describe('Whether a pod waits when it would break the rule.'),
    minDomains: z.int().min(1).max(1000).optional().describe('For DoNotSchedule: places that there must be at least.'),
    nodeAffinityPolicy: z
      .enum(['Honor', 'Ignore'])
      .optional()
      .describe('Whether nodes that nodeSelector and nodeAffinity rule out count. Left out: Honor, they do not.'),
    nodeTaintsPolicy: z
      .enum(['Honor', 'Ignore'])
      .optional()
      .describe('Whether nodes whose taints keep the pods away count. Left out: Ignore, they do.'),
  })
  .describe("One rule. It counts this gateway's pods.");

const autoscalingSchema = z.object({
  minReplicas: z.int().min(1).max(100).default(2).describe('The fewest pods that there are.'),
  maxReplicas: z.int().min(1).max(100).describe('The most pods that there are.'),
  targetCPUUtilizationPercentage: z
    .int()
    .min(1)
    .max(1000)
    .default(80)
    .describe(
      'How busy they are on average, in percent of resources.requests.cpu: above it there are more, below it fewer.',
    ),
});

/** Requirements on the labels of one peer, and values in one. */
const mostOfPeers = 8;

const peerSchema = z
  .object({
    podSelector: labelSelector('a pod', mostOfPeers)
      .optional()
      .describe("Pods, of the gateway's namespace where there is no namespaceSelector. An empty selector matches all."),
    namespaceSelector: labelSelector('a namespace', mostOfPeers)
      .optional()
      .describe('Namespaces, with all pods in them or those of podSelector. An empty selector matches all.'),
    ipBlock: z
      .object({
        cidr: text(43).describe('The range, such as 10.0.0.0/8.'),
        except: z.array(text(43).describe('One range.')).max(16).optional().describe('Ranges in it that are left out.'),
      })
      .optional()
      .describe('Addresses, of what is outside the cluster above all.'),
  })
  .describe('Who may come in.');

export const podShape = {
  replicas: z.int().min(0).max(100).optional().describe('How many pods serve. Left out: 1, or what autoscaling says.'),
  autoscaling: autoscalingSchema
    .optional()
    .describe('Lets a HorizontalPodAutoscaler say how many pods serve. It needs the metrics server in the cluster.'),
  networkPolicy: z
    .object({
      from: z.array(peerSchema).min(1).max(16).describe('Who may reach the port of MCP and pages.'),
    })
    .optional()
    .describe(
      'Lets in by a NetworkPolicy whom it names and nobody else, and the pods out to the operator, to DNS and to their Live sources alone. Left out: there is none.',
    ),
  service: z
    .object({
      type: z
        .enum(['ClusterIP', 'NodePort', 'LoadBalancer'])
        .default('ClusterIP')
        .describe(
          'NodePort and LoadBalancer let in whoever reaches the nodes or the balancer: without auth nobody is asked who he is.',
        ),
      port: z.int().min(1).max(65_535).default(8000).describe('The port of the Service.'),
      annotations: annotations.optional().describe('Annotations of the Service, for what gives out load balancers.'),
    })
    .prefault({})
    .describe('The Service, which has the name of the gateway.'),
  resources: resourcesSchema
    .default({ requests: { cpu: '50m', memory: '128Mi' }, limits: { memory: '512Mi' } })
    .describe('What each pod needs, and gets at most.'),
  nodeSelector: labels.optional().describe('Labels that a node must have.'),
  tolerations: z.array(tolerationSchema).max(64).optional().describe('Taints of nodes that the pods bear.'),
  affinity: affinitySchema.optional().describe('Where the pods are drawn to and kept from, as a pod has it.'),
  topologySpreadConstraints: z
    .array(spreadSchema)
    .max(16)
    .optional()
    .describe('How the pods are spread over nodes and zones.'),
  podLabels: labels.optional().describe('More labels of the pods.'),
  podAnnotations: annotations.optional().describe('Annotations of the pods.'),
  imagePullSecrets: z
    .array(
      z
        .object({ name: text(longest.name).min(1).describe('The name of a Secret of this namespace.') })
        .describe('One Secret.'),
    )
    .max(16)
    .optional()
    .describe('Secrets for the registry of the image.'),
};
