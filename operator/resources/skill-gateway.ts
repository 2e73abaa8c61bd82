// SkillGateway: one door through which agents read, as a custom resource.
import { z } from 'zod';
import { libraryNamePattern } from '../../catalogue/names.ts';

const tag = z.string().min(1).max(64);

export const skillGatewaySpecSchema = z.object({
  sources: z
    .object({
      selector: z
        .object({
          matchLabels: z.record(z.string().max(317), z.string().max(63)).optional(),
          matchExpressions: z
            .array(
              z.object({
                key: z.string().min(1).max(317),
                operator: z.enum(['In', 'NotIn', 'Exists', 'DoesNotExist']),
                values: z.array(z.string().max(63)).max(64).optional(),
              }),
            )
            .max(64)
            .optional(),
        })
        .optional(),
      names: z.array(z.string().min(1).max(253)).max(256).optional(),
    })
    .optional(),
  libraries: z
    .array(
      z.object({
        name: z.string().regex(libraryNamePattern).max(64),
        title: z.string().max(128).optional(),
        description: z.string().max(1024).optional(),
        tags: z.array(tag).max(64).default([]),
      }),
    )
    .max(256)
    .default([]),
  scope: z
    .object({ library: z.string().regex(libraryNamePattern).max(64).optional(), tags: z.array(tag).max(64).optional() })
    .prefault({}),
  instructions: z.string().max(4096).optional(),
});
export type SkillGatewaySpec = z.infer<typeof skillGatewaySpecSchema>;
