import { BlockList, isIP } from 'node:net';

/** Addresses that are not globally reachable, by RFC 6890 and its updates. */
const ipv4Ranges = [
  ...['0.0.0.0/8', '10.0.0.0/8', '100.64.0.0/10', '127.0.0.0/8', '169.254.0.0/16', '172.16.0.0/12'],
  ...['192.0.0.0/24', '192.0.2.0/24', '192.88.99.0/24', '192.168.0.0/16', '198.18.0.0/15'],
  ...['198.51.100.0/24', '203.0.113.0/24', '224.0.0.0/4', '240.0.0.0/4'],
];
/** Public IPv6 addresses are in 2000::/3. These ranges embed IPv4 addresses, which may be private, or are reserved. */
const ipv6Ranges = ['2001::/23', '2001:db8::/32', '2002::/16', '3fff::/20'];

const ipv4Private = createList('ipv4', ipv4Ranges);
const ipv6Private = createList('ipv6', ipv6Ranges);
const ipv6Global = createList('ipv6', ['2000::/3']);

function createList(family: 'ipv4' | 'ipv6', ranges: readonly string[]): BlockList {
  const list = new BlockList();
  for (const range of ranges) {
    const [network = '', bits] = range.split('/');
    list.addSubnet(network, Number(bits), family);
  }
  return list;
}

/** Whether an address is not a public one; true for a text that is not an address. */
export function isPrivateAddress(address: string): boolean {
  switch (isIP(address)) {
    case 4:
      return ipv4Private.check(address, 'ipv4');
    case 6:
      return !ipv6Global.check(address, 'ipv6') || ipv6Private.check(address, 'ipv6');
    default:
      return true;
  }
}
