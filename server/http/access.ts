// Who may speak to this server from a browser: the Origin rule of the protocol, and the Host rule on loopback.
import { localhostAllowedHostnames, validateHostHeader, validateOriginHeader } from '@modelcontextprotocol/server';

export interface AccessRules {
  /** Host names, without ports, that a browser's page may come from. */
  origins: readonly string[];
  /** Host names that a request may name; undefined: any, since the server is not bound to loopback. */
  hosts: readonly string[] | undefined;
}

/** @param boundTo the address that the server listens on */
export function accessRules(namespace: string, gateway: string, boundTo: string): AccessRules {
  const service = [gateway, `${gateway}.${namespace}`, `${gateway}.${namespace}.svc`];
  const own = [...service, `${gateway}.${namespace}.svc.cluster.local`, ...localhostAllowedHostnames()];
  return { origins: own, hosts: isLoopback(boundTo) ? localhostAllowedHostnames() : undefined };
}

/** Why a request is refused, in words for its sender; undefined when it may pass. A request without Origin passes. */
export function refusal(rules: AccessRules, origin: string | undefined, host: string | undefined): string | undefined {
  if (rules.hosts !== undefined && !validateHostHeader(host, [...rules.hosts]).ok) {
    return 'Host is not allowed: this server is bound to loopback, use localhost or 127.0.0.1';
  }
  if (!validateOriginHeader(origin, [...rules.origins]).ok) {
    return 'Origin is not allowed: pages of other sites may not use this server';
  }
  return undefined;
}

const isLoopback = (address: string): boolean =>
  address === 'localhost' || address === '::1' || /^127\.\d+\.\d+\.\d+$/.test(address);
