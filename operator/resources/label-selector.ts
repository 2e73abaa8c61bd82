// A label selector as specs write it: metav1.LabelSelector, bounded.
import { z } from 'zod';
import { labels, text } from './fields.ts';

/**
 * @param whose whose labels are looked at: `a pod`
 * @param most requirements, and values in one: each of them costs the API server a rule
 */
export const labelSelector = (whose: string, most = 64) =>
  z.object({
    matchLabels: labels.optional().describe(`Labels that ${whose} must have.`),
    matchExpressions: z
      .array(
        z
          .object({
            key: text(317).describe('The key of the label.'),
            operator: z.enum(['In', 'NotIn', 'Exists', 'DoesNotExist']).describe('How the label stands to the values.'),
            values: z
              .array(text(63).describe('One value.'))
              .max(most)
              .optional()
              .describe('For In and NotIn: at least one. For Exists and DoesNotExist: none.'),
          })
          .describe('One requirement.'),
      )
      .max(most)
      .optional()
      .describe('Requirements on labels. All must hold.'),
  });
