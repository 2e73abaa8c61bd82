// Addresses that no source may reach, in every notation, by redirects and by names that change their mind; and one open door
// at which nobody may ever knock.
import { networkInterfaces } from 'node:os';
import { type HostileSource, type HostileSources, impostor } from './case.ts';

/** Loopback, link-local, metadata, unspecified, multicast, and what holds one of them inside. */
const hosts = [
  ...['127.0.0.1', '127.8.9.1', '127.1', '2130706433', '0x7f000001', '0177.0.0.1', '127.0.0.1.', 'localhost'],
  ...[
    '[::1]',
    '[::ffff:127.0.0.1]',
    '[::ffff:7f00:1]',
    '[::127.0.0.1]',
    '[64:ff9b::127.0.0.1]',
    '[64:ff9b:1::127.0.0.1]',
  ],
  ...[
    '[2002:7f00:1::]',
    '[2001:0:4136:e378:8000:63bf:80ff:fffe]',
    '169.254.169.254',
    '[fe80::1]',
    '[::ffff:169.254.169.254]',
  ],
  ...['[64:ff9b::a9fe:a9fe]', '[2002:a9fe:a9fe::1]', '[fd00:ec2::254]', '100.100.100.200', '168.63.129.16'],
  ...['0.0.0.0', '0.1.2.3', '[::]', '224.0.0.1', '[ff02::1]', '255.255.255.255', '10.20.3.4', '[::ffff:10.20.3.4]'],
];

/** What the operator is told to close beside those that are always closed. */
export const deniedRange = '10.20.0.0/16';

/** Names that the operator's resolver answers with each of these in turn. */
export const names: Record<string, readonly string[]> = {
  'rebinding.example.org': ['203.0.113.7', '127.0.0.1'],
  'both.example.org': ['127.0.0.1'],
  'mapped.example.org': ['::ffff:127.0.0.1'],
};

export interface ClosedAddresses extends HostileSources {
  /** Requests that reached what stands on the closed address. */
  knocks(): number;
}

/** An address of this machine that sources may reach. @throws where it has none but loopback */
function ownAddress(): string {
  const open = Object.values(networkInterfaces())
    .flatMap((all) => all ?? [])
    .find(({ internal, family }) => !internal && family === 'IPv4');
  if (open === undefined) throw new Error('this machine has no address but loopback, at which a server could redirect');
  return open.address;
}

export async function closedAddresses(): Promise<ClosedAddresses> {
  let knocks = 0;
  const { origin, server } = await impostor((_, response) => {
    knocks += 1;
    response.end('canary');
  });
  const { port } = new URL(origin);
  const schemes: Record<string, (host: string) => string> = {
    git: (host) => `git+http://${host}:${port}/x.git`,
    index: (host) => `http://${host}:${port}/.well-known/agent-skills/index.json`,
  };
  const door = await impostor((request, response) => {
    const at = hosts[Number(request.url!.split('/')[1])]!;
    response.writeHead(302, { location: `http://${at}:${port}${request.url}` }).end();
  }, ownAddress());
  schemes.redirect = (host) => `${door.origin}/${hosts.indexOf(host)}/.well-known/agent-skills/index.json`;
  const sources: HostileSource[] = [];
  for (const [kind, url] of Object.entries(schemes)) {
    for (const host of kind === 'redirect' ? hosts : [...hosts, ...Object.keys(names)]) {
      sources.push({
        name: `address-${sources.length}`,
        what: `${kind} at ${host}`,
        url: url(host),
        fate: 'AddressNotAllowed',
      });
    }
  }
  return {
    sources,
    knocks: () => knocks,
    [Symbol.asyncDispose]: async () => {
      for (const one of [server, door.server]) {
        one.closeAllConnections();
        one.close();
      }
    },
  };
}
