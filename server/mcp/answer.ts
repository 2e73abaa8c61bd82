// The answer to one POST, as HTTP sends it.

export interface Answer {
  status: number;
  /** The media type of the body. */
  type?: string;
  /** The methods that are allowed, where another one was used. */
  allow?: string;
  body?: string | Buffer;
}
