// Sends batches of counts to the operator's port for servers.
import type { AskOperator } from '../operator/client.ts';
import type { SendDownloads } from './delivery.ts';

export function downloadsToOperator(ask: AskOperator): SendDownloads {
  return async (batch, signal) => {
    const { status } = await ask('/counts', signal, batch);
    if (status === 200) return 'kept';
    if (status === 400 || status === 413) return 'refused';
    throw new Error(`the operator answers HTTP ${status}`);
  };
}
