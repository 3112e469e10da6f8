import { createHash, pbkdf2Sync } from 'node:crypto'

import { englishWords, masterKeyOf, type HDKey } from '../../../base/viem.ts'

const BITS_OF_WORD = 11
/** The number of words, each with the length of its checksum in bits. */
const CHECKSUM_BITS: Readonly<Record<number, number>> = { 12: 4, 15: 5, 18: 6, 21: 7, 24: 8 }
const SEED_ROUNDS = 2048
const SEED_BYTES = 64

/**
 * What is wrong with a mnemonic, as a sentence that does not show it; undefined if it is one of BIP-39 in English.
 *
 * @see https://github.com/bitcoin/bips/blob/master/bip-0039.mediawiki#generating-the-mnemonic
 */
export function mnemonicFault(mnemonic: string): string | undefined {
  const words = wordsOf(mnemonic)
  const checksumBits = CHECKSUM_BITS[words.length]
  if (checksumBits === undefined) return `must be a mnemonic of 12 to 24 words, and has ${words.length}`
  const english = englishWords()
  const places = words.map((word) => english.indexOf(word))
  const unknown = places.indexOf(-1)
  if (unknown !== -1)
    return `must be a mnemonic of BIP-39 in English: its word ${unknown + 1} is none of the list`
  const bits = places.map((place) => place.toString(2).padStart(BITS_OF_WORD, '0')).join('')
  const entropy = bits.slice(0, -checksumBits)
  const bytes = Uint8Array.from(entropy.match(/.{8}/g)!, (byte) => Number.parseInt(byte, 2))
  const [hash] = createHash('sha256').update(bytes).digest()
  const checksum = hash!.toString(2).padStart(8, '0').slice(0, checksumBits)
  return bits.endsWith(checksum)
    ? undefined
    : 'must be a mnemonic of BIP-39, and its checksum is wrong: a word was mistyped'
}

/**
 * The key above the addresses of a mnemonic, with its private part: m/44'/60'/0'/0.
 *
 * @see https://github.com/bitcoin/bips/blob/master/bip-0044.mediawiki#path-levels
 */
export function accountKeyOf(mnemonic: string): HDKey {
  const text = wordsOf(mnemonic).join(' ')
  const seed = pbkdf2Sync(text, 'mnemonic', SEED_ROUNDS, SEED_BYTES, 'sha512')
  return masterKeyOf(seed).derive("m/44'/60'/0'/0")
}

const wordsOf = (mnemonic: string): string[] => mnemonic.normalize('NFKD').trim().toLowerCase().split(/\s+/)
