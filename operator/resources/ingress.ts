// The field of a SkillGateway by which it is reached from outside the cluster.
import { z } from 'zod';
import { annotations, longest, text } from './fields.ts';

export const ingressSchema = z.object({
  className: text(longest.name)
    .optional()
    .describe('The IngressClass, which says what controller serves it. Left out: the default one of the cluster.'),
  host: text(longest.name).describe('The name by which it is reached, such as skills.example.com.'),
  path: text(1024)
    .default('/')
    .describe(
      'What is let in: this path and all below it. /mcp lets in MCP alone. It is passed on as it is, so it is one of the paths that a server has.',
    ),
  tlsSecretName: text(longest.name)
    .optional()
    .describe('A TLS Secret of this namespace for that host. Left out: TLS is what the controller does by itself.'),
  annotations: annotations.optional().describe('Annotations of the Ingress, for its controller or cert-manager.'),
});
