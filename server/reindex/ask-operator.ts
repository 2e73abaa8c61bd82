// Asks the operator for a look.
import { z } from 'zod';
import { type AskOperator, type OperatorAnswer, OperatorOutOfReach } from '../operator/client.ts';
import { type Reindex, ReindexFault } from './reindex.ts';

const answerSchema = z.object({
  rebuilt: z.array(z.string().max(253)).max(100_000),
  unfinished: z.array(z.string().max(253)).max(100_000),
  generation: z.int().min(1).optional(),
});

export function reindexByOperator(ask: AskOperator): Reindex {
  return async (signal) => {
    let answer: OperatorAnswer;
    try {
      answer = await ask('/reindex', signal);
    } catch (error) {
      if (!(error instanceof OperatorOutOfReach)) throw error;
      throw new ReindexFault(503, error.message, { cause: error.cause });
    }
    if (answer.status !== 200) throw new ReindexFault(503, wordsFor(answer.status));
    return answerSchema.parse(answer.body);
  };
}

function wordsFor(status: number): string {
  switch (status) {
    case 401:
    case 403:
      return "The operator does not know this pod as one of the gateway's: only pods that it started itself may ask";
    case 409:
      return "The gateway's spec is not valid: kubectl describe skillgateway says why";
    default:
      return `The operator cannot look now (HTTP ${status}): try again in a moment`;
  }
}
