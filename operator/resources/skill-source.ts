// SkillSource: one place where material for agents is kept, as a custom resource.
import { z } from 'zod';
import { libraryNamePattern } from '../../catalogue/names.ts';

const glob = z.string().min(1).max(512);

export const limitsSchema = z.object({
  files: z.int().min(1).default(50_000),
  fileSize: z.string().max(16).default('4Mi'),
  totalSize: z.string().max(16).default('256Mi'),
});

export const skillSourceSpecSchema = z.object({
  url: z.string().min(1).max(2048),
  ref: z.string().min(1).max(255).optional(),
  subdirectory: z.string().max(1024).default(''),
  library: z.string().regex(libraryNamePattern).max(64).optional(),
  tags: z.array(z.string().min(1).max(64)).max(64).default([]),
  include: z.object({ skills: z.array(glob).max(64).optional(), files: z.array(glob).max(64).optional() }).prefault({}),
  exclude: z.array(glob).max(64).default([]),
  refresh: z.string().max(32).optional(),
  secretRef: z.object({ name: z.string().min(1).max(253) }).optional(),
  timeout: z.string().max(32).default('60s'),
  limits: limitsSchema.prefault({}),
  suspend: z.boolean().default(false),
});
export type SkillSourceSpec = z.infer<typeof skillSourceSpecSchema>;
