// Connections to other people's servers: every address a name resolves to is checked where the connection is made.
import { lookup as resolveName } from 'node:dns';
import { connect, type LookupFunction, type Socket } from 'node:net';
import type { SecureContext } from 'node:tls';
import { buildConnector, type Dispatcher, EnvHttpProxyAgent } from 'undici';
import type { AddressCheck } from './addresses.ts';

export interface ProxySettings {
  httpsProxy?: string | undefined;
  httpProxy?: string | undefined;
  noProxy?: string | undefined;
}

export interface Connections {
  check: AddressCheck;
  proxy: ProxySettings | undefined;
  trust: SecureContext | undefined;
  /** Trust for a proxy that is itself spoken to over TLS. */
  proxyTrust: SecureContext | undefined;
  /** Milliseconds to an open, encrypted connection. */
  connectTimeout: number;
  /** Milliseconds without a byte, before the answer and within it. */
  idleTimeout: number;
}

export interface GuardedDispatcher {
  dispatcher: Dispatcher;
  /** Ends every connection, also those still being made, which undici would wait for. */
  destroy(): Promise<void>;
}

/** Connections of one client. A proxy of the installation is connected to unchecked, and resolves names itself. */
export function guardedDispatcher(connections: Connections): GuardedDispatcher {
  const { check, proxy, trust, proxyTrust, connectTimeout, idleTimeout } = connections;
  const tls = (context: SecureContext | undefined) => (context === undefined ? {} : { secureContext: context });
  const connecting = new Set<Socket>();
  const connect: buildConnector.connector = (options, callback) => {
    const port = Number(options.port) || (options.protocol === 'https:' ? 443 : 80);
    const lookup = checkedLookup(check, port);
    const connector = buildConnector({ allowH2: false, timeout: connectTimeout, lookup, ...tls(trust) });
    const socket = connector(options, (...result) => {
      connecting.delete(socket);
      callback(...result);
    }) as unknown as Socket;
    connecting.add(socket);
  };
  const dispatcher = new EnvHttpProxyAgent({
    httpProxy: proxy?.httpProxy ?? '',
    httpsProxy: proxy?.httpsProxy ?? '',
    noProxy: proxy?.noProxy ?? '',
    allowH2: false,
    connect,
    connectTimeout,
    headersTimeout: idleTimeout,
    bodyTimeout: idleTimeout,
    requestTls: tls(trust),
    proxyTls: tls(proxyTrust),
  });
  const destroy = async (): Promise<void> => {
    for (const socket of connecting) socket.destroy();
    await dispatcher.destroy();
  };
  return { dispatcher, destroy };
}

/**
 * One connection without a protocol.
 * @param timeout milliseconds until it stands
 * @throws Error what `net` says, ETIMEDOUT after the timeout, AddressClosed; the signal's own reason when it aborts
 */
export async function connectTo(
  host: string,
  port: number,
  { check, timeout, signal }: { check: AddressCheck; timeout: number; signal: AbortSignal },
): Promise<Socket> {
  signal.throwIfAborted();
  const { promise, resolve, reject } = Promise.withResolvers<Socket>();
  const socket = connect({ host, port, lookup: checkedLookup(check, port) });
  const late = (): void =>
    void socket.destroy(Object.assign(new Error('no connection in time'), { code: 'ETIMEDOUT' }));
  const onAbort = (): void => void socket.destroy(signal.reason);
  const timer = setTimeout(late, timeout);
  signal.addEventListener('abort', onAbort, { once: true });
  // It stays, for what breaks before its user listens.
  socket.on('error', reject);
  socket.once('connect', () => resolve(socket));
  try {
    return await promise;
  } finally {
    clearTimeout(timer);
    signal.removeEventListener('abort', onAbort);
  }
}

/** A name led to a closed address; the words go on from the name of the server. */
export class AddressClosed extends Error {}

function checkedLookup(check: AddressCheck, port: number): LookupFunction {
  return (hostname, options, callback) => {
    resolveName(hostname, { ...options, all: true }, (error, addresses) => {
      if (error !== null) return callback(error, '', 0);
      for (const { address } of addresses) {
        const closed = check.address(address, port);
        if (closed !== undefined) return callback(new AddressClosed(`resolves to ${closed}`), '', 0);
      }
      const [first] = addresses;
      if (options.all === true || first === undefined) return callback(null, addresses);
      callback(null, first.address, first.family);
    });
  };
}
