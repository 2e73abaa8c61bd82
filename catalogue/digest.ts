// Digests as the catalogue writes them.
import { hash } from 'node:crypto';

/** `sha256:<64 hex>` of the bytes, or of the text's UTF-8. */
export const digestOf = (content: Uint8Array | string): string => `sha256:${hash('sha256', content)}`;
