// What a node with pods needs of a machine, and what to say where it is not there.
import { spawnSync } from 'node:child_process';

/** Programs, each with the Debian package that it comes with. */
export type Tools = Readonly<Record<string, string>>;

export const nodeTools: Tools = {
  unshare: 'util-linux',
  nsenter: 'util-linux',
  mount: 'mount',
  ip: 'iproute2',
  iptables: 'iptables',
  conntrack: 'conntrack',
  catatonit: 'catatonit',
  openssl: 'openssl',
  tar: 'tar',
};

/** @throws with what to install, or with who must run this */
export function demandTools(tools: Tools): void {
  if (process.getuid?.() !== 0) throw new Error('A node with pods needs root: run this as root.');
  const missing = Object.keys(tools).filter((tool) => spawnSync('which', [tool]).status !== 0);
  if (missing.length === 0) return;
  const packages = [...new Set(missing.map((tool) => tools[tool]))].join(' ');
  throw new Error(`This machine lacks ${missing.join(', ')}. On Debian: apt-get install -y ${packages}`);
}
