// Which addresses a source may be fetched from: decided on the address itself, whatever name or notation led to it.
import ipaddr from 'ipaddr.js';

export interface AddressPolicy {
  /** Loopback is let through: for tests and for `lyceum run`. */
  allowLoopback: boolean;
  /** Ranges that the installation closes beside those that are always closed. */
  deniedCidrs: readonly string[];
  /** The Kubernetes API server: closed on this port, whatever else runs on its machines. Addresses or host names. */
  apiServer?: { addresses: readonly string[]; port: number } | undefined;
}

/** Says why a host or an address is closed, in words that end a sentence "… is"; undefined when it is open. */
export interface AddressCheck {
  /** Host names of the API server that a request to this port has to look up first, for `apiServerIs`. */
  apiServerNames(port: number): readonly string[];
  /** What those names resolve to at present, so that no other name leads there. */
  apiServerIs(addresses: readonly string[]): void;
  /** @param address an IP address in any notation */
  address(address: string, port: number): string | undefined;
  /** @param host the host of a URL: a name, which is only compared with the API server's, or a literal address */
  host(host: string, port: number): string | undefined;
}

type Address = ipaddr.IPv4 | ipaddr.IPv6;

/** Metadata services outside the link-local range: AWS, Google, Scaleway, Oracle, Alibaba, Azure. */
const metadata = new Set(
  [
    'fd00:ec2::254',
    'fd20:ce::254',
    'fd00:42::42',
    'fd00:c1::a9fe:a9fe',
    '100.100.100.200',
    '168.63.129.16',
    '192.0.0.192',
  ].map((text) => ipaddr.parse(text).toNormalizedString()),
);

const alwaysClosed: Record<string, string> = {
  loopback: 'a loopback address',
  linkLocal: 'a link-local address',
  unspecified: 'an unspecified address',
  multicast: 'a multicast address',
  broadcast: 'the broadcast address',
};

/**
 * @throws Error when a range of the policy is no CIDR; the message names it
 */
export function addressCheck(policy: AddressPolicy): AddressCheck {
  const denied = policy.deniedCidrs.map(parseCidr);
  const apiHosts = policy.apiServer?.addresses ?? [];
  const apiNames = apiHosts.filter((host) => parseAddress(host) === undefined).map(plainName);
  const apiAddresses = comparable(apiHosts);
  let resolvedApiAddresses = new Set<string>();

  const closed = (address: Address, port: number): string | undefined => {
    const text = address.toNormalizedString();
    if (port === policy.apiServer?.port && (apiAddresses.has(text) || resolvedApiAddresses.has(text))) {
      return 'the API server';
    }
    if (metadata.has(text)) return "a cloud's metadata address";
    const range = address.range();
    const words = range === 'loopback' && policy.allowLoopback ? undefined : alwaysClosed[range];
    if (words !== undefined) return words;
    if (denied.some((cidr) => cidr[0].kind() === address.kind() && address.match(cidr))) {
      return 'an address that --deny-cidr closes';
    }
    return undefined;
  };

  const check: AddressCheck = {
    apiServerNames: (port) => (port === policy.apiServer?.port ? apiNames : []),
    apiServerIs(addresses) {
      resolvedApiAddresses = comparable(addresses);
    },
    address(text, port) {
      const parsed = parseAddress(text);
      if (parsed === undefined) return 'an address that cannot be read';
      for (const form of embedded(parsed)) {
        const words = closed(form, port);
        if (words !== undefined) return words;
      }
      return undefined;
    },
    host(host, port) {
      if (parseAddress(host) !== undefined) return check.address(host, port);
      return port === policy.apiServer?.port && apiNames.includes(plainName(host)) ? 'the API server' : undefined;
    },
  };
  return check;
}

/** The addresses among these hosts, in a form to compare. */
function comparable(hosts: readonly string[]): Set<string> {
  const parsed = hosts.map(parseAddress).filter((address) => address !== undefined);
  return new Set(parsed.flatMap(embedded).map((form) => form.toNormalizedString()));
}

const plainName = (host: string): string => host.toLowerCase().replace(/\.$/, '');

function parseAddress(text: string): Address | undefined {
  const bare = text.replace(/^\[(.*)\]$/, '$1').replace(/%.*$/, '');
  return ipaddr.isValid(bare) ? ipaddr.parse(bare) : undefined;
}

function parseCidr(text: string): [Address, number] {
  try {
    return ipaddr.parseCIDR(text);
  } catch (cause) {
    throw new Error(`${JSON.stringify(text)} is no address range; write one as 10.0.0.0/8`, { cause });
  }
}

/**
 * The address and every IPv4 address that stands inside it: mapped (RFC 4291), compatible, NAT64 (RFC 6052, 8215),
 * translated (RFC 6145), 6to4 (RFC 3056) and Teredo's client (RFC 4380). A kernel or a gateway may unwrap each.
 */
function embedded(address: Address): Address[] {
  if (address.kind() === 'ipv4') return [address];
  const bytes = address.toByteArray();
  const inner = (from: number, mask = 0): Address =>
    ipaddr.fromByteArray(bytes.slice(from, from + 4).map((byte) => byte ^ mask));
  switch (address.range()) {
    case 'ipv4Mapped':
      return [inner(12)];
    case 'rfc6052':
    case 'rfc6145':
      return [address, inner(12)];
    case '6to4':
      return [address, inner(2)];
    case 'teredo':
      return [address, inner(12, 0xff)];
    case 'loopback':
    case 'unspecified':
      return [address];
    default:
      return bytes.slice(0, 12).every((byte) => byte === 0) ? [address, inner(12)] : [address];
  }
}
