// Who may speak to this server from a browser: the Origin rule of the protocol, and the Host rule on loopback.
import { BlockList, isIPv6 } from 'node:net';
import { localhostAllowedHostnames, validateHostHeader, validateOriginHeader } from '@modelcontextprotocol/server';

export interface AccessRules {
  /** Host names, without ports, that a browser's page may come from. */
  origins: readonly string[];
  /** Host names that a request may name; undefined: any, since the server is not bound to loopback. */
  hosts: readonly string[] | undefined;
}

/** @param boundTo the IP address that the server listens on */
export function accessRules(namespace: string, gateway: string, boundTo: string): AccessRules {
  const service = [gateway, `${gateway}.${namespace}`, `${gateway}.${namespace}.svc`];
  const own = [...service, `${gateway}.${namespace}.svc.cluster.local`, ...localhostAllowedHostnames()];
  return { origins: own, hosts: isLoopback(boundTo) ? [...localhostAllowedHostnames(), boundTo] : undefined };
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

const loopback = new BlockList();
loopback.addSubnet('127.0.0.0', 8, 'ipv4');
loopback.addAddress('::1', 'ipv6');

/** IPv4 addresses in IPv6's form are loopback as well. */
const isLoopback = (address: string): boolean => loopback.check(address, isIPv6(address) ? 'ipv6' : 'ipv4');
