// Where a gateway's pods are drawn to and kept from: v1.Affinity, bounded.
import { z } from 'zod';
import { text } from './fields.ts';
import { labelSelector } from './label-selector.ts';

const nodeRequirements = (what: string, key: string) =>
  z
    .array(
      z
        .object({
          key: text(317).describe(key),
          operator: z
            .enum(['In', 'NotIn', 'Exists', 'DoesNotExist', 'Gt', 'Lt'])
            .describe('How it stands to the values.'),
          values: z
            .array(text(253).describe('One value.'))
            .max(64)
            .optional()
            .describe('For In and NotIn: at least one. For Gt and Lt: one number. For the others: none.'),
        })
        .describe('One requirement.'),
    )
    .max(32)
    .optional()
    .describe(what);

const nodeTerm = z
  .object({
    matchExpressions: nodeRequirements('Requirements on the labels of a node. All must hold.', 'The key of the label.'),
    matchFields: nodeRequirements('Requirements on fields of a node. All must hold.', 'The field: metadata.name.'),
  })
  .describe('One group of requirements.');

const podTerm = z
  .object({
    topologyKey: text(317).describe('The label of nodes that says what one place is: kubernetes.io/hostname.'),
    labelSelector: labelSelector('a pod').optional().describe('The pods that it is about.'),
    namespaces: z
      .array(text(63).describe('The name of a namespace.'))
      .max(64)
      .optional()
      .describe("Namespaces of those pods. Left out, and no namespaceSelector: the gateway's own."),
    namespaceSelector: labelSelector('a namespace').optional().describe('Namespaces of those pods, by their labels.'),
  })
  .describe('Pods, and what counts as their place.');

const weight = z.int().min(1).max(100).describe('How much it counts, 1 to 100.');

const podRules = (draws: string) =>
  z.object({
    requiredDuringSchedulingIgnoredDuringExecution: z
      .array(podTerm)
      .max(32)
      .optional()
      .describe(`Pods that ${draws}, without exception.`),
    preferredDuringSchedulingIgnoredDuringExecution: z
      .array(
        z.object({ weight, podAffinityTerm: podTerm.describe('The pods.') }).describe('A preference with its weight.'),
      )
      .max(32)
      .optional()
      .describe(`Pods that ${draws}, where possible.`),
  });

export const affinitySchema = z.object({
  nodeAffinity: z
    .object({
      requiredDuringSchedulingIgnoredDuringExecution: z
        .object({
          nodeSelectorTerms: z
            .array(nodeTerm)
            .min(1)
            .max(32)
            .describe('Groups of requirements. One of them must hold.'),
        })
        .optional()
        .describe('What a node must have.'),
      preferredDuringSchedulingIgnoredDuringExecution: z
        .array(
          z.object({ weight, preference: nodeTerm.describe('What counts.') }).describe('A preference with its weight.'),
        )
        .max(32)
        .optional()
        .describe('What a node should have.'),
    })
    .optional()
    .describe('Which nodes the pods may run on, and which they prefer.'),
  podAffinity: podRules('the pods run beside').optional().describe('Other pods that the pods run beside.'),
  podAntiAffinity: podRules('the pods keep away from').optional().describe('Other pods that the pods keep away from.'),
});
