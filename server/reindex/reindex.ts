// A look at everything that this server's gateway serves, asked for by a request: what it gives, and how it fails.

export interface Reindexed {
  /** Names of the sources that did not fail exactly as they had before. */
  rebuilt: string[];
  /** Names of the sources that were still being looked at when it was time to answer. */
  unfinished: string[];
  /** The generation of the catalogue that tells of it; absent where nothing could be published. */
  generation?: number | undefined;
}

/** @param signal aborts when nobody waits any longer. @throws ReindexFault */
export type Reindex = (signal: AbortSignal) => Promise<Reindexed>;

/** The message is for whoever asked: it says what is wrong and what to do, and nothing that another program sent. */
export class ReindexFault extends Error {
  readonly status: 501 | 503 | 504;
  constructor(status: ReindexFault['status'], message: string, options?: ErrorOptions) {
    super(message, options);
    this.status = status;
  }
}

/** How a server asks that has nobody to ask. */
export const nobodyToAsk: Reindex = async () => {
  throw new ReindexFault(
    501,
    'This server is not told where its operator is: give it --operator-url, --operator-ca and --operator-token',
  );
};
