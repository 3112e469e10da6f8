import type { Address } from '../../../base/hex.ts'
import { getAddress, isAddress } from '../../../base/viem.ts'

/**
 * https://eips.ethereum.org/EIPS/eip-55: an address of one case has no checksum. What is no address is a fault of its own,
 * and not of its checksum.
 */
export function hasChecksum(text: string): boolean {
  const digits = text.slice(2)
  return (
    digits === digits.toLowerCase() ||
    digits === digits.toUpperCase() ||
    !isAddress(text, { strict: false }) ||
    getAddress(`0x${digits.toLowerCase()}`) === text
  )
}

/** The address of a text of 40 hexadecimal digits after 0x, in EIP-55 form. */
export const addressOf = (text: string): Address => getAddress(text.toLowerCase())
