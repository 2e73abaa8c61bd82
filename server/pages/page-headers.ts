// The headers of every page.
import { embeddedNowhere, narrowedBy } from '../http/content.ts';

/** Nothing that a page shows can run, reach another host or stand in another site's frame. */
export const pageHeaders = {
  ...embeddedNowhere,
  'cache-control': 'private, no-cache',
  'content-security-policy':
    "default-src 'none'; style-src 'self'; script-src 'self'; img-src 'self'; connect-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'",
  'referrer-policy': 'no-referrer',
  vary: narrowedBy,
  'x-content-type-options': 'nosniff',
};
