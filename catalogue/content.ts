// Content by digest: the one way in which bytes leave the catalogue, whatever stands behind it.

/** A blob that the catalogue names and that is not there, or whose bytes are not what its digest says. */
export class ContentUnavailable extends Error {
  readonly digest: string;
  constructor(digest: string, why: string) {
    super(`content ${digest} is not available: ${why}`);
    this.name = 'ContentUnavailable';
    this.digest = digest;
  }
}

export interface ContentReader {
  /**
   * The bytes of one blob, checked against the digest.
   * @param digest `sha256:<hex>`
   * @throws ContentUnavailable
   */
  read(digest: string): Promise<Buffer>;
}
