// Who may speak to this server from a browser: the Origin rule of the protocol with CORS, and the Host rule on loopback.
import { BlockList, isIPv6 } from 'node:net';
import { localhostAllowedHostnames, validateHostHeader } from '@modelcontextprotocol/server';
import type { FastifyInstance, FastifyReply } from 'fastify';
import type { Index } from '../../catalogue/index-file.ts';
import { allowedOrigins } from '../origins.ts';
import type { CurrentCatalogue } from './catalogue.ts';
import { refuse } from './refuse.ts';

export interface AccessRules {
  /** Names of the gateway's own hosts, without ports: pages of theirs may use it. */
  own: readonly string[];
  /** Host names that a request may name; undefined: any, since the server is not bound to loopback. */
  hosts: readonly string[] | undefined;
}

/** @param boundTo the IP address that the server listens on */
export function accessRules(namespace: string, gateway: string, boundTo: string): AccessRules {
  const service = [gateway, `${gateway}.${namespace}`, `${gateway}.${namespace}.svc`];
  const own = [...service, `${gateway}.${namespace}.svc.cluster.local`, ...localhostAllowedHostnames()];
  return { own, hosts: isLoopback(boundTo) ? [...localhostAllowedHostnames(), boundTo] : undefined };
}

/**
 * Why a request is refused, in words for its sender; undefined when it may pass. A request without Origin passes.
 * @param index names the gateway's own hosts outside the cluster, and origins that pass besides
 */
export function refusal(
  rules: AccessRules,
  origin: string | undefined,
  host: string | undefined,
  index: Index | undefined,
): string | undefined {
  if (rules.hosts !== undefined && !isServed(rules.hosts, host)) {
    return 'Host is not allowed: this server is bound to loopback, use localhost or 127.0.0.1';
  }
  if (origin !== undefined && !isOwn(rules, index, origin) && !allowedOrigins(index).has(origin)) {
    return 'Origin is not allowed: pages of other sites may not use this server';
  }
  return undefined;
}

/** Most requests name one host, and parsing it as a URL costs: the last one that was let pass is not parsed again. */
function isServed(hosts: readonly string[], host: string | undefined): boolean {
  if (host !== undefined && lastServed.get(hosts) === host) return true;
  const { ok } = validateHostHeader(host, [...hosts]);
  if (ok && host !== undefined) lastServed.set(hosts, host);
  return ok;
}

const lastServed = new WeakMap<readonly string[], string>();

/** An origin of a host of the gateway's own, at any port: `http://agents.flow.svc:8000`. */
function isOwn({ own }: AccessRules, index: Index | undefined, origin: string): boolean {
  const url = URL.parse(origin);
  if (url === null || !/^https?:$/.test(url.protocol) || url.origin !== origin) return false;
  return own.includes(url.hostname) || index?.hosts?.includes(url.hostname) === true;
}

/** Refuses browsers' pages of other sites, and tells browsers what allowed ones may send and see. */
export function addAccess(app: FastifyInstance, rules: AccessRules, catalogue: CurrentCatalogue): void {
  app.addHook('onRequest', (request, reply, done) => {
    const { origin, host } = request.headers;
    const why = refusal(rules, origin, host, catalogue.snapshot?.index);
    if (why !== undefined) return void refuse(request, reply, 403, why);
    if (origin === undefined) return done();
    reply.header('access-control-allow-origin', origin);
    reply.header('access-control-expose-headers', exposed);
    const asked = request.headers['access-control-request-method'];
    if (request.method !== 'OPTIONS' || asked === undefined) return done();
    answerPreflight(reply, request.headers['access-control-request-headers']);
  });
  app.addHook('onSend', (request, reply, payload, done) => {
    if (request.method !== 'POST' || request.headers.origin !== undefined) {
      const varied = reply.getHeader('vary');
      reply.header('vary', varied === undefined ? 'Origin' : `${varied}, Origin`);
    }
    done(null, payload);
  });
}

/** What a page must see beyond what every page may: how to authenticate, and when to try again. */
const exposed = 'WWW-Authenticate, Retry-After';
const preflightSeconds = 600;

/** Headers that a page may send: those of the protocol, of authentication and of Lyceum's own choices. */
const mayBeSent =
  /^(accept|authorization|content-type|if-none-match|last-event-id|mcp-[a-z0-9-]{1,64}|x-skill-[a-z]{1,16}|x-mcp-[a-z]{1,16})$/;

/** Before a page sends its request the browser asks whether it may. That carries no credentials, so it needs none. */
function answerPreflight(reply: FastifyReply, wanted = ''): FastifyReply {
  const names = wanted.split(',').map((name) => name.trim().toLowerCase());
  return reply
    .code(204)
    .header('access-control-allow-methods', 'GET, HEAD, POST')
    .header('access-control-allow-headers', names.filter((name) => mayBeSent.test(name)).join(', '))
    .header('access-control-max-age', preflightSeconds)
    .header('vary', 'Access-Control-Request-Headers')
    .send();
}

const loopback = new BlockList();
loopback.addSubnet('127.0.0.0', 8, 'ipv4');
loopback.addAddress('::1', 'ipv6');

/** IPv4 addresses in IPv6's form are loopback as well. */
const isLoopback = (address: string): boolean => loopback.check(address, isIPv6(address) ? 'ipv6' : 'ipv4');
