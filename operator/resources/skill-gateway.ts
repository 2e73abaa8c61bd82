// SkillGateway: one door through which agents read, as a custom resource.
import { z } from 'zod';
import { conditions, intOrString, longest, observedGeneration, text } from './fields.ts';
import { httpRouteSchema } from './http-route.ts';
import { ingressSchema } from './ingress.ts';
import { labelSelector } from './label-selector.ts';
import { podShape } from './pod-shape.ts';

const tags = () => z.array(text(longest.tag).describe('One tag.')).max(64);

const librarySchema = z
  .object({
    name: text(longest.library).describe('The library, as in skill://LIBRARY/….'),
    title: text(128).optional().describe('Its name for people.'),
    description: text(1024).optional().describe('What an agent finds in it, in a sentence.'),
    tags: tags().default([]).describe('Tags of everything in it, besides those of its sources.'),
  })
  .describe('One library.');

const authSchema = z.object({
  tokens: z
    .object({
      secretRef: z
        .object({ name: text(longest.name).min(1).describe('The name of the Secret.') })
        .describe(
          'A Secret of this namespace. Each key names a client, its value is the bearer token of that client: 16 to 1,024 visible ASCII characters.',
        ),
    })
    .describe('The bearer tokens.'),
  scopes: z
    .array(
      z
        .object({
          token: text(longest.name).describe('The client: its key in the Secret, never the token itself.'),
          library: text(longest.library).optional().describe('Only this library, or this group of skills.'),
          tags: tags().optional().describe('Only what has at least one of these tags.'),
        })
        .describe('The most that one client sees.'),
    )
    .max(128)
    .default([])
    .describe(
      'The most that single clients see, below the scope of the gateway. A client that is not named here sees all of that.',
    ),
});

const syncSchema = z.object({
  enabled: z
    .boolean()
    .default(false)
    .describe(
      'Whether the pods copy the catalogue from the operator instead of mounting its volume, so that they run on any node. Where the volume is in another namespace they always do, if the installation lets them.',
    ),
  sizeLimit: intOrString(32)
    .default('1Gi')
    .describe("The most that a copy takes of a node's disk: about twice what the sources hold."),
  serviceAccounts: z
    .array(text(longest.name).min(1).describe('The name of a ServiceAccount.'))
    .max(64)
    .default([])
    .describe(
      'ServiceAccounts of this namespace whose pods may copy the catalogue too, for a server of their own beside an agent. They get the selected sources whole, whatever scope says. Not together with auth.',
    ),
});

export const skillGatewaySpecSchema = z
  .object({
    sources: z
      .object({
        selector: labelSelector('a SkillSource')
          .optional()
          .describe('Serve the SkillSources whose labels match. An empty selector matches all.'),
        names: z
          .array(text(longest.name).min(1).describe('The name of a SkillSource.'))
          .max(256)
          .optional()
          .describe('Serve the SkillSources of these names.'),
      })
      .optional()
      .describe('Which SkillSources of this namespace are served: by selector or by names. Left out: all of them.'),
    libraries: z
      .array(librarySchema)
      .max(256)
      .default([])
      .describe('What to say of libraries. Those not named here are served too, without title and description.'),
    scope: z
      .object({
        library: text(longest.library).optional().describe('Only this library, or this group of skills.'),
        tags: tags().optional().describe('Only what has at least one of these tags.'),
      })
      .prefault({})
      .describe('The most that anybody sees through this gateway. Left out: everything.'),
    auth: authSchema.optional().describe('Who may use this gateway. Left out: everybody who reaches it.'),
    allowedOrigins: z
      .array(
        text(longest.origin).describe('One origin: its scheme, its host and, where it has one of its own, its port.'),
      )
      .max(64)
      .optional()
      .describe(
        "Origins whose pages may use this gateway from a browser, such as https://claude.ai. Pages of its own hosts and of localhost always may, and so may requests without an Origin, which are no browser's.",
      ),
    reindex: z
      .enum(['Token', 'Anyone'])
      .default('Token')
      .describe(
        'Who may ask for a look at the sources now, with POST /reindex. Token: whoever shows a bearer token, so nobody where there are none. Anyone: whoever may use the gateway.',
      ),
    instructions: text(4096).optional().describe('What MCP clients show the model about this gateway.'),
    sync: syncSchema.prefault({}).describe('Copies of the catalogue, where its volume does not reach.'),
    ingress: ingressSchema
      .optional()
      .describe(
        'Lets in people and agents from outside the cluster by an Ingress. It needs auth. Left out: there is none.',
      ),
    httpRoute: httpRouteSchema
      .optional()
      .describe(
        'Lets in people and agents from outside the cluster by an HTTPRoute of the Gateway API. It needs auth. Left out: there is none.',
      ),
    ...podShape,
  })
  .prefault({})
  .describe('What to serve, and to whom.');
export type SkillGatewaySpec = z.infer<typeof skillGatewaySpecSchema>;

const total = (what: string) => z.int().min(0).optional().describe(what);

export const skillGatewayStatusSchema = z
  .object({
    observedGeneration,
    conditions: conditions.describe(
      'Ready: a catalogue of the current spec is published, and the wanted pods run and serve it. SourcesReady: whether any source is missing, failed or stale. ' +
        'Reconciling: it is being worked on. Stalled: a person must change something.',
    ),
    url: text(longest.url).optional().describe('The MCP address to give to agents.'),
    catalogue: z
      .object({
        digest: text(80).optional().describe('SHA-256 over what is published.'),
        generation: total('Grows by one with every catalogue that is published.'),
        libraries: total('Libraries with a source that is served.'),
        skills: total('Skills that are served.'),
        prompts: total('Prompts that are served.'),
        rules: total('Rules that are served.'),
        profiles: total('Profiles that are served.'),
        sources: total('Sources that are selected.'),
        staleSources: total('Sources that are served from the last good harvest after a failure.'),
      })
      .optional()
      .describe('What is published.'),
    replicas: total('Pods that there are.'),
    readyReplicas: total('Pods that are ready.'),
    conflicts: z
      .array(
        z
          .object({
            address: text(4096).describe('The address that two sources want, without skill://.'),
            source: text(longest.name).describe('The SkillSource that did not get it.'),
            movedTo: text(4096).optional().describe('Where its artifact is instead. Left out: it was rejected.'),
          })
          .describe('One address.'),
      )
      .max(20)
      .optional()
      .meta({ 'x-kubernetes-list-type': 'atomic' })
      .describe('The first 20 addresses that more than one source wants.'),
  })
  .describe('How the gateway stands.');
export type SkillGatewayStatus = z.infer<typeof skillGatewayStatusSchema>;
