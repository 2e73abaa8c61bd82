// The field of a SkillGateway by which it is reached through a Gateway of the Gateway API.
import { z } from 'zod';
import { longest, text } from './fields.ts';

const parentRefSchema = z
  .object({
    name: text(longest.name).min(1).describe('The name of the Gateway.'),
    namespace: text(63)
      .optional()
      .describe('Its namespace, whose listeners must let in routes of this one. Left out: this one.'),
    sectionName: text(longest.name).optional().describe('One of its listeners. Left out: all that fit.'),
    port: z.int().min(1).max(65535).optional().describe('Only its listeners on this port.'),
  })
  .describe('One Gateway.');

export const httpRouteSchema = z.object({
  parentRefs: z.array(parentRefSchema).min(1).max(8).describe('The Gateways that lead to it.'),
  hostnames: z
    .array(text(longest.name).describe('One name, such as skills.example.com.'))
    .max(16)
    .default([])
    .describe(
      "The names by which it is reached. Left out: all that the listeners have; pages of those are then none of the gateway's own.",
    ),
});
