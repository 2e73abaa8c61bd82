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

export async function answerFrom(response: Response): Promise<WholeAnswer> {
  const type = response.headers.get('content-type');
  const allow = response.headers.get('allow');
  return {
    status: response.status,
    ...(type === null ? {} : { type }),
    ...(allow === null ? {} : { allow }),
    ...(response.body === null ? {} : { body: await response.text() }),
  };
}
