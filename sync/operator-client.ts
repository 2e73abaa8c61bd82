// Asks the operator for what is copied, over HTTPS, known by the token of this pod.
import { readFile } from 'node:fs/promises';
import type { IncomingHttpHeaders } from 'node:http';
import type { Readable } from 'node:stream';
import { Agent, request } from 'undici';
import { SyncFault } from './fault.ts';

export interface OperatorAddress {
  /** `https://host:port` */
  url: string;
  /** A file with the certificates of the authorities that the operator's own is known by, in PEM. */
  ca: string;
  /** A file with the pod's token for the operator. */
  token: string;
  /** The name of the gateway. Its namespace is the pod's own. */
  gateway: string;
}

/** 200, 206 and 304 alone; the body is to be read or destroyed. */
export interface OperatorAnswer {
  status: number;
  headers: IncomingHttpHeaders;
  body: Readable;
}

/** The longest that an operator lets a call wait is less. In milliseconds. */
const headersMilliseconds = 45_000;
const connectMilliseconds = 5_000;
const stalledMilliseconds = 30_000;

export class OperatorClient {
  readonly #address: OperatorAddress;
  #kept: { authorities: string; dispatcher: Agent } | undefined;

  constructor(address: OperatorAddress) {
    this.#address = address;
  }

  /** Both files are read for each call: Kubernetes puts others in their place. @throws SyncFault; the signal's reason */
  async get(
    path: string,
    query: Record<string, string>,
    headers: Record<string, string>,
    signal: AbortSignal,
  ): Promise<OperatorAnswer> {
    const { url, ca, token, gateway } = this.#address;
    const [authorities, bearer] = await Promise.all([read(ca), read(token)]);
    const target = new URL(path, url);
    target.search = String(new URLSearchParams({ gateway, ...query }));
    let answer: Awaited<ReturnType<typeof request>>;
    try {
      answer = await request(target, {
        headers: { authorization: `Bearer ${bearer.trim()}`, ...headers },
        dispatcher: await this.#dispatcher(authorities),
        signal,
      });
    } catch (cause) {
      signal.throwIfAborted();
      throw unreachable(target.host, cause);
    }
    const { statusCode: status, body } = answer;
    if (status === 200 || status === 206 || status === 304) return { status, headers: answer.headers, body };
    await body.dump().catch(() => {});
    throw refusal(status, gateway);
  }

  async close(): Promise<void> {
    await this.#kept?.dispatcher.destroy();
  }

  async #dispatcher(authorities: string): Promise<Agent> {
    if (this.#kept?.authorities === authorities) return this.#kept.dispatcher;
    await this.#kept?.dispatcher.destroy();
    const dispatcher = new Agent({
      connect: { ca: authorities, timeout: connectMilliseconds },
      headersTimeout: headersMilliseconds,
      bodyTimeout: stalledMilliseconds,
      connections: 2,
    });
    this.#kept = { authorities, dispatcher };
    return dispatcher;
  }
}

/** Codes of TLS: what is wrong is whom this side trusts, not the way there. */
const untrusted = /CERT|SELF_SIGNED|UNABLE_TO|ALTNAME/;

export function unreachable(host: string, cause: unknown): SyncFault {
  const code = (cause as NodeJS.ErrnoException | undefined)?.code ?? '';
  const why = untrusted.test(code)
    ? `its certificate is not of the authority in --operator-ca (${code}): give the ca.crt of the installation`
    : 'see whether it runs, and whether a NetworkPolicy keeps this pod from port 9443';
  return new SyncFault('Unreachable', `the operator cannot be reached at ${host}: ${why}`, { cause });
}

function refusal(status: number, gateway: string): SyncFault {
  switch (status) {
    case 401:
      return new SyncFault(
        'NotAllowed',
        'the operator does not accept the token: mount one of this pod for the audience lyceum, and see that it is renewed',
      );
    case 403:
      return new SyncFault(
        'NotAllowed',
        `this pod may not copy the gateway ${gateway}, or its namespace has none of that name: name its ServiceAccount in spec.sync.serviceAccounts`,
      );
    case 404:
      return new SyncFault(
        'NotPublished',
        `the operator has not published the gateway ${gateway}, or something else by now: it is asked again`,
      );
    default:
      return new SyncFault('OperatorFailed', `the operator answers ${status}: its log says why; it is asked again`);
  }
}

async function read(file: string): Promise<string> {
  try {
    return await readFile(file, 'utf8');
  } catch (cause) {
    throw new SyncFault('Unreachable', `${file} cannot be read: mount it, see docs/sync.md`, { cause });
  }
}
