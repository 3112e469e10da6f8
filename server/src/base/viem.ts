// Of viem, loaded at the first call of any of these: that is a tenth of the start, and most servers have no chain.
import type { HDKey } from 'viem/accounts'

import { requireModule } from './asset.ts'
import { once } from './once.ts'
import type * as Words from './english-words.ts'
import type * as Viem from './viem-package.ts'

export type { HDKey }

const load = once(() => requireModule('base/viem-package') as typeof Viem)

/** A function with the type of the loaded one. */
function lazy<F>(find: () => F): F {
  const found = once(find) as () => (...values: unknown[]) => unknown
  return ((...values: unknown[]) => found()(...values)) as F
}

export const bytesToHex = lazy(() => load().bytesToHex)
export const concat = lazy(() => load().concat)
export const decodeAbiParameters = lazy(() => load().decodeAbiParameters)
export const decodeErrorResult = lazy(() => load().decodeErrorResult)
export const decodeFunctionResult = lazy(() => load().decodeFunctionResult)
export const encodeAbiParameters = lazy(() => load().encodeAbiParameters)
export const encodeFunctionData = lazy(() => load().encodeFunctionData)
export const formatEther = lazy(() => load().formatEther)
export const formatGwei = lazy(() => load().formatGwei)
export const getAddress = lazy(() => load().getAddress)
export const hexToBytes = lazy(() => load().hexToBytes)
export const hexToString = lazy(() => load().hexToString)
export const isAddress = lazy(() => load().isAddress)
export const isAddressEqual = lazy(() => load().isAddressEqual)
export const isHex = lazy(() => load().isHex)
export const keccak256 = lazy(() => load().keccak256)
export const numberToHex = lazy(() => load().numberToHex)
export const parseAbi = lazy(() => load().parseAbi)
export const parseEther = lazy(() => load().parseEther)
export const parseGwei = lazy(() => load().parseGwei)
export const privateKeyToAccount = lazy(() => load().privateKeyToAccount)
export const publicKeyToAddress = lazy(() => load().publicKeyToAddress)
export const recoverAddress = lazy(() => load().recoverAddress)
export const serializeTransaction = lazy(() => load().serializeTransaction)
export const size = lazy(() => load().size)
export const slice = lazy(() => load().slice)
export const sign = lazy(() => load().sign)

/** The words of BIP-39 in English. */
export const englishWords = (): readonly string[] =>
  (requireModule('base/english-words') as typeof Words).english

/** The curve, with keys in bytes, which can be overwritten. */
export const secp256k1 = (): typeof Viem.secp256k1 => load().secp256k1

/** The key at the root of the tree of BIP-32. */
export const masterKeyOf = (seed: Uint8Array): HDKey => load().HDKey.fromMasterSeed(seed)
