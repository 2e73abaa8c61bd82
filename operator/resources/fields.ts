// Field types that both kinds share: text bounded in characters as the API server counts them, and conditions.
import { z } from 'zod';

/** Text of at most so many characters. A character is a code point, as the API server counts `maxLength`. */
export const text = (longest: number) =>
  z
    .string()
    .refine((value) => value.length <= longest || [...value].length <= longest, `at most ${longest} characters`)
    .meta({ maxLength: longest });

/** Lengths that stand in more than one field. */
export const longest = { name: 253, library: 64, tag: 64, url: 2048, origin: 300 } as const;

/** A label selector's map. Keys are checked by a rule, since a schema bounds only values. */
export const labels = z
  .record(z.string(), text(63))
  .refine((map) => Object.keys(map).length <= 64, 'at most 64 labels')
  .meta({ maxProperties: 64 });

/** The annotations of an object. Keys are checked by a rule. */
export const annotations = z
  .record(z.string(), text(4096))
  .refine((map) => Object.keys(map).length <= 32, 'at most 32 annotations')
  .meta({ maxProperties: 32 });

/** A number or a text, as Kubernetes writes quantities: `1`, `500m`. */
export const intOrString = (longest: number) =>
  z.union([z.int(), text(longest)]).meta({ 'x-kubernetes-int-or-string': true, maxLength: longest });

const dateTime = z.string().meta({ format: 'date-time' });

export { dateTime };

/** metav1.Condition. */
export const conditionSchema = z
  .object({
    type: text(316).describe('What the condition is about, in CamelCase.'),
    status: z.enum(['True', 'False', 'Unknown']).describe('Whether it holds.'),
    observedGeneration: z.int().min(0).optional().describe('The metadata.generation that the condition was set for.'),
    lastTransitionTime: dateTime.describe('When its status last changed.'),
    reason: text(1024).describe('Why, as a constant that a script may match.'),
    message: text(32768).describe('Why, for people: what is wrong and what to do.'),
  })
  .describe('One condition, as metav1.Condition has it.');

export const conditions = z
  .array(conditionSchema)
  .max(16)
  .optional()
  .meta({ 'x-kubernetes-list-type': 'map', 'x-kubernetes-list-map-keys': ['type'] });

export const observedGeneration = z
  .int()
  .min(-1)
  .optional()
  .describe('The metadata.generation that this status is about; -1 before the first look.');
