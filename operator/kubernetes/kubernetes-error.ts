// What can go wrong between the operator and the API server: one error type, made from statuses and from broken connections.

export type KubernetesErrorKind =
  | 'conflict'
  | 'notFound'
  | 'gone'
  | 'tooMany'
  | 'invalid'
  | 'forbidden'
  | 'unauthorized'
  | 'server'
  | 'network';

/** The message names the request and the remedy; it holds no header and nothing of a body but reasons and field names. */
export class KubernetesError extends Error {
  readonly kind: KubernetesErrorKind;
  readonly status: number | undefined;
  /** The API server's own wish, in seconds. */
  readonly retryAfterSeconds: number | undefined;
  /** What the API server says itself, cut: it may repeat what it was sent, so it is shown only where that holds no secret. */
  readonly told: string | undefined;
  constructor(
    kind: KubernetesErrorKind,
    message: string,
    details: { status?: number; retryAfterSeconds?: number; told?: string; cause?: unknown } = {},
  ) {
    super(message, details.cause === undefined ? undefined : { cause: details.cause });
    this.name = 'KubernetesError';
    this.kind = kind;
    this.status = details.status;
    this.retryAfterSeconds = details.retryAfterSeconds;
    this.told = details.told;
  }
}

/** An answer is larger than the operator reads in one piece. */
export class AnswerTooLarge extends KubernetesError {
  constructor(what: string, mostBytes: number) {
    super('server', `${what}: the API server's answer is larger than ${mostBytes} bytes`);
    this.name = 'AnswerTooLarge';
  }
}

export const isKind = (error: unknown, ...kinds: KubernetesErrorKind[]): error is KubernetesError =>
  error instanceof KubernetesError && kinds.includes(error.kind);

const kindsByStatus: Readonly<Record<number, KubernetesErrorKind>> = {
  401: 'unauthorized',
  403: 'forbidden',
  404: 'notFound',
  409: 'conflict',
  410: 'gone',
  429: 'tooMany',
};

const remedies: Readonly<Partial<Record<KubernetesErrorKind, string>>> = {
  unauthorized: 'the token or client certificate is not accepted',
  forbidden: "grant it in the Role of the operator's ServiceAccount",
};

/** The longest wish to wait that is followed, in seconds; longer ones are cut to it. */
const longestRetryAfterSeconds = 300;

export const kindOfStatus = (status: number): KubernetesErrorKind =>
  kindsByStatus[status] ?? (status >= 400 && status < 500 ? 'invalid' : 'server');

/**
 * The error that an answer with an error status stands for.
 * @param what the request, as `GET /api/v1/…`
 * @param retryAfter the Retry-After header; seconds or an HTTP date
 * @param body the answer's body, a metav1.Status where the API server wrote it; anything else is ignored
 */
export function errorOfAnswer(
  what: string,
  status: number,
  retryAfter: string | undefined,
  body: unknown,
): KubernetesError {
  const kind = kindOfStatus(status);
  const told = statusDetails(body);
  const parts = [told.reason, told.fields, remedies[kind]].filter((part) => part !== undefined && part !== '');
  const message = `${what}: the API server answered ${status}${parts.length === 0 ? '' : ` (${parts.join('; ')})`}`;
  const retryAfterSeconds = retryAfterOf(retryAfter) ?? told.retryAfterSeconds;
  return new KubernetesError(kind, message, {
    status,
    ...(retryAfterSeconds === undefined ? {} : { retryAfterSeconds }),
    ...(told.message === undefined ? {} : { told: told.message }),
  });
}

/** The error that a request without an answer stands for. Codes are shown, words of the libraries below are not. */
export function errorOfConnection(what: string, host: string, cause: unknown): KubernetesError {
  const code = connectionCode(cause);
  return new KubernetesError('network', `${what}: no answer from the API server at ${host} (${code})`, { cause });
}

/** The code that tells what became of a connection: `ECONNREFUSED`, `UND_ERR_SOCKET`, `TimeoutError`. */
export function connectionCode(error: unknown): string {
  for (let at = error, depth = 0; at instanceof Error && depth < 4; at = at.cause, depth++) {
    const code = (at as NodeJS.ErrnoException).code;
    if (typeof code === 'string') return code;
    if (at.name === 'TimeoutError') return at.name;
  }
  return error instanceof Error ? error.name : 'unknown';
}

/** Characters of the API server's own words that are kept. */
const mostToldCharacters = 600;

interface StatusDetails {
  reason?: string;
  fields?: string;
  retryAfterSeconds?: number;
  message?: string;
}

function statusDetails(body: unknown): StatusDetails {
  if (!isRecord(body)) return {};
  const details = isRecord(body.details) ? body.details : {};
  const causes = Array.isArray(details.causes) ? details.causes : [];
  const fields = causes
    .slice(0, 8)
    .map((cause: unknown) => (isRecord(cause) && typeof cause.field === 'string' ? cause.field : ''))
    .filter((field) => /^[A-Za-z0-9_.[\]-]{1,128}$/.test(field));
  const wish = details.retryAfterSeconds;
  return {
    ...(typeof body.reason === 'string' && /^[A-Za-z]{1,64}$/.test(body.reason) ? { reason: body.reason } : {}),
    ...(typeof body.message === 'string' ? { message: oneLine(body.message) } : {}),
    ...(fields.length === 0 ? {} : { fields: `fields: ${[...new Set(fields)].join(', ')}` }),
    ...(typeof wish === 'number' && wish > 0 ? { retryAfterSeconds: Math.min(wish, longestRetryAfterSeconds) } : {}),
  };
}

/** Text from outside, in one line and not too long. */
export function oneLine(text: string): string {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is to go
  const line = text.slice(0, 4 * mostToldCharacters).replace(/[\x00-\x20\x7f-\x9f]+/g, ' ');
  const characters = Array.from(line.trim().toWellFormed());
  return characters.length <= mostToldCharacters
    ? characters.join('')
    : `${characters.slice(0, mostToldCharacters - 1).join('')}…`;
}

function retryAfterOf(header: string | undefined): number | undefined {
  if (header === undefined) return undefined;
  const seconds = /^\d+$/.test(header) ? Number(header) : (Date.parse(header) - Date.now()) / 1000;
  return seconds > 0 ? Math.min(seconds, longestRetryAfterSeconds) : undefined;
}

const isRecord = (value: unknown): value is Record<string, unknown> => typeof value === 'object' && value !== null;
