// The answer to one POST, as HTTP sends it.

export type Answer = WholeAnswer | SplicedAnswer;

export interface WholeAnswer {
  status: number;
  /** The media type of the body. */
  type?: string;
  /** The methods that are allowed, where another one was used. */
  allow?: string;
  body?: string;
}

/** A result in JSON whose larger part is kept for many requests; both are UTF-8. */
export interface SplicedAnswer {
  /** What is made for this request, its id above all. */
  head: string;
  rest: Buffer;
}
