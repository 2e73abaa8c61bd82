// What went wrong on the wire, as a reason and words: a server's name and status numbers, never what it sent.
import { UpstreamFault } from '../fault.ts';
import { AddressClosed } from './dispatcher.ts';

const dayInSeconds = 86_400;

/**
 * The wish of a Retry-After header, in seconds, at most a day; undefined where it says nothing (RFC 9110, 10.2.3).
 * @param now milliseconds since 1970
 */
export function retryAfterSeconds(header: string | undefined, now: number): number | undefined {
  if (header === undefined) return undefined;
  const seconds = /^\d{1,9}$/.test(header.trim())
    ? Number(header.trim())
    : Math.ceil((Date.parse(header) - now) / 1000);
  return Number.isFinite(seconds) ? Math.min(Math.max(seconds, 0), dayInSeconds) : undefined;
}

/** The fault of an answer whose status is no success. */
export function statusFault(host: string, status: number, retryAfter: string | undefined): UpstreamFault {
  const seconds = retryAfterSeconds(retryAfter, Date.now());
  const wish = seconds === undefined ? {} : { retryAfterSeconds: seconds };
  if (status === 429 || ((status === 403 || status === 503) && seconds !== undefined)) {
    return new UpstreamFault('RateLimited', `${host} asks to slow down (HTTP ${status})`, wish);
  }
  switch (status) {
    case 401:
      return new UpstreamFault(
        'AuthenticationFailed',
        `${host} wants credentials or does not take these (HTTP 401); check the Secret that spec.secretRef names`,
      );
    case 403:
      return new UpstreamFault(
        'AccessDenied',
        `${host} refuses access (HTTP 403); check what the credentials of spec.secretRef may read`,
      );
    case 404:
    case 410:
      return new UpstreamFault(
        'NotFound',
        `${host} has nothing at this address, or shows it only with credentials (HTTP ${status}); check spec.url and spec.secretRef`,
      );
    default:
      return new UpstreamFault('UpstreamInvalid', `${host} answered with HTTP ${status}`, wish);
  }
}

const closedTheConnection = 'closed the connection; check scheme and port in spec.url';
const cannotBeReached = 'cannot be reached; check the host in spec.url, and what the network lets the operator reach';
const throughTheProxy = 'cannot be reached through the proxy; check the host in spec.url, and the proxy';

const unreachableCodes: Record<string, string> = {
  ECONNREFUSED: 'refuses connections; check host and port in spec.url',
  ECONNRESET: closedTheConnection,
  EPIPE: closedTheConnection,
  ENOTFOUND: 'is a name that does not resolve; check the host in spec.url, and the DNS where the operator runs',
  EAI_AGAIN:
    'is a name that does not resolve at present; check the host in spec.url, and the DNS where the operator runs',
  EHOSTUNREACH: cannotBeReached,
  ENETUNREACH: cannotBeReached,
  EADDRNOTAVAIL: cannotBeReached,
  UND_ERR_SOCKET: closedTheConnection,
  UND_ERR_PRX_CONN: throughTheProxy,
  UND_ERR_ABORTED: throughTheProxy,
};

const timeoutCodes = new Set([
  'UND_ERR_CONNECT_TIMEOUT',
  'UND_ERR_HEADERS_TIMEOUT',
  'UND_ERR_BODY_TIMEOUT',
  'ETIMEDOUT',
  'ESOCKETTIMEDOUT',
]);

const tlsCodes =
  /^(ERR_TLS_|ERR_SSL_|CERT_|UNABLE_TO_|DEPTH_ZERO_|SELF_SIGNED_|HOSTNAME_MISMATCH|CRL_|INVALID_CA|INVALID_PURPOSE|PATH_LENGTH|UND_ERR_PRX_TLS|EPROTO)/;

/** The fault of a request that broke before its answer began. */
export function requestFault(host: string, error: unknown): UpstreamFault {
  for (const link of causes(error)) {
    if (link instanceof UpstreamFault) return link;
    if (link instanceof AddressClosed) return refusal(host, link.message);
    const code = codeOf(link);
    if (code === undefined) continue;
    if (timeoutCodes.has(code)) {
      return new UpstreamFault('TimedOut', `${host} did not answer in time`, { cause: error });
    }
    if (tlsCodes.test(code)) {
      return new UpstreamFault(
        'TLSFailed',
        `no trusted TLS connection to ${host} (${code}); where its certificate is signed by a private authority, put that authority's certificate into the Secret's key ca.crt`,
        { cause: error },
      );
    }
    const words = unreachableCodes[code];
    if (words !== undefined) return new UpstreamFault('Unreachable', `${host} ${words}`, { cause: error });
  }
  return new UpstreamFault('UpstreamInvalid', `${host} answered in a way that is no HTTP`, { cause: error });
}

/** The fault of an answer that broke while its body was read. */
export function bodyFault(host: string, error: unknown): UpstreamFault {
  for (const link of causes(error)) {
    if (link instanceof UpstreamFault) return link;
    if (timeoutCodes.has(codeOf(link) ?? '')) {
      return new UpstreamFault('TimedOut', `${host} stopped sending in the middle of an answer`, { cause: error });
    }
  }
  return new UpstreamFault('UpstreamInvalid', `${host} broke off in the middle of an answer`, { cause: error });
}

/** The fault of an address that is closed to sources. */
export function refusal(host: string, why: string): UpstreamFault {
  return new UpstreamFault(
    'AddressNotAllowed',
    `${host} ${why}, which Lyceum does not fetch from; name a server that stands elsewhere`,
  );
}

/** True for a connection that was closed before anything was answered: a kept one may have been closed under us. */
export function closedBeforeAnswer(error: unknown): boolean {
  return causes(error).some((link) => ['UND_ERR_SOCKET', 'ECONNRESET', 'EPIPE'].includes(codeOf(link) ?? ''));
}

const codeOf = (error: unknown): string | undefined => {
  const code = (error as { code?: unknown } | null)?.code;
  return typeof code === 'string' ? code : undefined;
};

function causes(error: unknown): unknown[] {
  const found: unknown[] = [];
  const queue: unknown[] = [error];
  while (queue.length > 0 && found.length < 16) {
    const link = queue.shift();
    if (typeof link !== 'object' || link === null || found.includes(link)) continue;
    found.push(link);
    if (link instanceof AggregateError) queue.push(...link.errors);
    queue.push((link as Error).cause);
  }
  return found;
}
