import { lookup as systemLookup } from 'node:dns'
import { isIP, type LookupFunction } from 'node:net'

/** Decides whether an IP address, as text, must not be connected to. */
export type IsRefused = (address: string) => boolean

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
