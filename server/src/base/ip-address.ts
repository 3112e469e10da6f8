import { BlockList, isIP } from 'node:net'

import ipaddr from 'ipaddr.js'

export type IpAddress = ipaddr.IPv4 | ipaddr.IPv6

/** The part of IPv6 that IANA has allocated for the Internet: https://www.iana.org/assignments/ipv6-unicast-address-assignments */
const GLOBAL_UNICAST: [ipaddr.IPv6, number] = ipaddr.IPv6.parseCIDR('2000::/3')
/** IPv4 hosts as an IPv6-only network reaches them: RFC 6052, section 2.1. */
const NAT64: [ipaddr.IPv6, number] = ipaddr.IPv6.parseCIDR('64:ff9b::/96')
const CUSTOMER_GROUPS = 4

/**
 * Reads an IP address. An IPv4 address in the form of IPv6 (`::ffff:203.0.113.9`) is the IPv4 address.
 *
 * Octal, hexadecimal and shortened forms of IPv4 (`0177.0.0.1`, `127.1`) are not accepted: programs disagree on what
 * they mean.
 *
 * @returns undefined if the text is not an IP address
 */
export function parseIpAddress(text: string): IpAddress | undefined {
  if (isIP(text) === 0) return undefined
  // The package reads the obsolete ::1.2.3.4 as ::ffff:1.2.3.4, which is another host.
  const address = ipaddr.parse(text.replace(/^::(?=\d+\.)/, '0::'))
  return address instanceof ipaddr.IPv6 && address.isIPv4MappedAddress() ? address.toIPv4Address() : address
}

/** Whether an address never leaves this machine: `127.0.0.1`, `::1`. */
export const isLoopbackAddress = (ip: string): boolean => parseIpAddress(ip)?.range() === 'loopback'

/**
 * Whether an address is one of the public Internet. URLs of users must not lead to any other: loopback, private,
 * link-local, shared, multicast, reserved and documentation addresses, tunnels to IPv4, text that is not an address.
 *
 * Check the address of the connection, not one that was looked up before: DNS may answer differently.
 *
 * @see https://www.iana.org/assignments/iana-ipv4-special-registry
 * @see https://www.iana.org/assignments/iana-ipv6-special-registry
 */
export function isPublicAddress(ip: string): boolean {
  const address = parseIpAddress(ip)
  if (address === undefined) return false
  if (address instanceof ipaddr.IPv4) return address.range() === 'unicast'
  if (address.match(NAT64)) return new ipaddr.IPv4(address.toByteArray().slice(-4)).range() === 'unicast'
  return address.range() === 'unicast' && address.match(GLOBAL_UNICAST)
}

/** Whether the text is an IP address or a network in CIDR notation: `10.0.0.1`, `10.0.0.0/8`, `fd00::/8`. */
export function isIpNetwork(text: string): boolean {
  const [address = '', bits, ...more] = text.split('/')
  const version = isIP(address)
  if (version === 0 || more.length > 0) return false
  return bits === undefined || (/^\d{1,3}$/.test(bits) && Number(bits) <= (version === 4 ? 32 : 128))
}

/**
 * The address or network by which clients are counted: one IPv4 address, or the IPv6 network of 64 bits that one
 * customer is assigned (RFC 6177), in its normal form.
 *
 * @returns undefined if the text is not an IP address
 */
export function networkOf(ip: string): string | undefined {
  const address = parseIpAddress(ip)
  if (!(address instanceof ipaddr.IPv6)) return address?.toString()
  const groups = address.parts.slice(0, CUSTOMER_GROUPS).map((group) => group.toString(16))
  return `${groups.join(':')}::/64`
}

const familyOf = (address: string): 'ipv4' | 'ipv6' => (isIP(address) === 4 ? 'ipv4' : 'ipv6')

/**
 * Makes a check of whether an IP address is in one of the networks. An IPv4 address may come in the form of IPv6
 * (`::ffff:10.0.0.1`), as a socket that listens on `::` shows it.
 *
 * @param networks each one that `isIpNetwork` accepts
 */
export function networkFilter(networks: readonly string[]): (address: string) => boolean {
  const blocks = new BlockList()
  for (const network of networks) {
    const [address = '', bits] = network.split('/')
    const family = familyOf(address)
    blocks.addSubnet(address, Number(bits ?? (family === 'ipv4' ? 32 : 128)), family)
  }
  return (address) => {
    const [withoutZone = ''] = address.split('%')
    return isIP(withoutZone) !== 0 && blocks.check(withoutZone, familyOf(withoutZone))
  }
}
