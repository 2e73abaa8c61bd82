// What is fed with damaged inputs, and what it may say of them.

export interface Target {
  name: string;
  /** Words of the format, strewn in. */
  dictionary: readonly string[];
  /** @param folder of its own, for whatever it needs */
  prepare(folder: string): Promise<Prepared>;
}

export interface Prepared {
  /** Inputs that real programs have made. */
  seeds: readonly Buffer[];
  /** @throws where the input brings out anything but what is foreseen */
  feed(input: Buffer): Promise<void>;
  close?(): Promise<void>;
}

// biome-ignore lint/suspicious/noExplicitAny: the constructor of an error takes whatever it takes
type Fault = abstract new (...of: any[]) => Error;

/** Work that may fail with these faults and no other. @throws any other error, and a fault that says too much */
export async function orFault(faults: readonly Fault[], work: () => unknown): Promise<void> {
  try {
    await work();
  } catch (error) {
    if (!faults.some((fault) => error instanceof fault)) throw error;
    if ((error as Error).message.length > longestMessage)
      throw new Error('a fault with an endless message', { cause: error });
  }
}

const longestMessage = 4096;

/** The input in pieces, as a network gives them. */
export async function* inPieces(input: Buffer): AsyncGenerator<Buffer> {
  for (let at = 0; at < input.length; at += pieceSize) yield input.subarray(at, at + pieceSize);
}

const pieceSize = 4_001;
