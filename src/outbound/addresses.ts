import { lookup as systemLookup } from 'node:dns'
import { isIP, type LookupFunction } from 'node:net'

import ipaddr from 'ipaddr.js'

/** Decides whether an IP address, as text, must not be connected to. */
export type IsRefused = (address: string) => boolean

/** RFC 4291, section 2.4: of IPv6, addresses outside of it lead to no host of the public internet. */
const GLOBAL_UNICAST = ipaddr.IPv6.parseCIDR('2000::/3')

/**
 * Whether an IP address is anything but one of the public internet: private, loopback, link-local, shared (CGNAT),
 * multicast, reserved, or an IPv6 address that stands for an IPv4 one (mapped, NAT64, 6to4, Teredo).
 * Text that is no IP address counts as private.
 */
export const isPrivateAddress: IsRefused = (address) => {
  if (isIP(address) === 0) return true
  // A mapped address is judged as the IPv4 address that is connected to.
  const parsed = ipaddr.process(address)
  if (parsed.range() !== 'unicast') return true
  return parsed instanceof ipaddr.IPv6 && !parsed.match(GLOBAL_UNICAST)
}

/** A name or an address leads only to addresses that are refused. */
export class RefusedAddressError extends Error {
  override readonly name = 'RefusedAddressError'
}

/** A lookup that answers only addresses that are not refused. The connection is made to one of these, with no second lookup. */
export const allowedLookup =
  (isRefused: IsRefused, lookup: LookupFunction = systemLookup): LookupFunction =>
  (hostname, options, callback) =>
    lookup(hostname, { ...options, all: true }, (error, answer) => {
      if (error) return callback(error, [])
      const addresses = typeof answer === 'string' ? [{ address: answer, family: isIP(answer) }] : answer
      const allowed = addresses.filter(({ address }) => !isRefused(address))
      const [first] = allowed
      if (!first) return callback(new RefusedAddressError('every address of the name is refused'), [])
      if (options.all) return callback(null, allowed)
      callback(null, first.address, first.family)
    })
