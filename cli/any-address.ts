// The address to listen on that takes whoever reaches this machine, by IPv4 or IPv6.
import { type NetworkInterfaceInfo, networkInterfaces } from 'node:os';

/** `::` takes IPv4 too. Without IPv6 some systems do not know it; a pod of a cluster without IPv4 has nothing else. */
export function anyAddress(interfaces: NodeJS.Dict<NetworkInterfaceInfo[]> = networkInterfaces()): '::' | '0.0.0.0' {
  const addresses = Object.values(interfaces).flatMap((one) => one ?? []);
  return addresses.some(({ family, internal }) => family === 'IPv6' && !internal) ? '::' : '0.0.0.0';
}
