// The body of a request: JSON in UTF-8, called so, or an error that says which of these it is not.
import { isUtf8 } from 'node:buffer';
import { isJsonContentType } from '@modelcontextprotocol/server';

export class NotJson extends Error {}
export class UnsupportedMediaType extends Error {}

/** @throws NotJson, UnsupportedMediaType */
export function jsonBody(contentType: string | undefined, bytes: Buffer): unknown {
  if (contentType !== 'application/json' && !isJsonContentType(contentType ?? null)) throw new UnsupportedMediaType();
  if (!isUtf8(bytes)) throw new NotJson();
  const text = bytes.toString();
  try {
    return JSON.parse(text.startsWith('\uFEFF') ? text.slice(1) : text);
  } catch {
    throw new NotJson();
  }
}
