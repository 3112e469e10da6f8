// Of viem, loaded at the first call of any of these: that is a tenth of the start, and most servers have no chain.
import { createRequire } from 'node:module'
import { fileURLToPath } from 'node:url'

import type * as Accounts from 'viem/accounts'
import type * as Utils from 'viem/utils'

import { once } from './once.ts'

export type HDKey = Accounts.HDKey

const require = createRequire(import.meta.url)
// By its file: by its name it would be another copy than the one that `import` loads.
const load = (name: string): unknown => require(fileURLToPath(import.meta.resolve(name)))
const loadUtils = once(() => load('viem/utils') as typeof Utils)
const loadAccounts = once(() => load('viem/accounts') as typeof Accounts)

/** A function with the type of the loaded one. */
function lazy<F>(find: () => F): F {
  const found = once(find) as () => (...values: unknown[]) => unknown
  return ((...values: unknown[]) => found()(...values)) as F
}

export const bytesToHex = lazy(() => loadUtils().bytesToHex)
export const concat = lazy(() => loadUtils().concat)
export const decodeAbiParameters = lazy(() => loadUtils().decodeAbiParameters)
export const decodeErrorResult = lazy(() => loadUtils().decodeErrorResult)
export const decodeFunctionResult = lazy(() => loadUtils().decodeFunctionResult)
export const encodeAbiParameters = lazy(() => loadUtils().encodeAbiParameters)
export const encodeFunctionData = lazy(() => loadUtils().encodeFunctionData)
export const formatEther = lazy(() => loadUtils().formatEther)
export const formatGwei = lazy(() => loadUtils().formatGwei)
export const getAddress = lazy(() => loadUtils().getAddress)
export const hexToBytes = lazy(() => loadUtils().hexToBytes)
export const hexToString = lazy(() => loadUtils().hexToString)
export const isAddress = lazy(() => loadUtils().isAddress)
export const isAddressEqual = lazy(() => loadUtils().isAddressEqual)
export const isHex = lazy(() => loadUtils().isHex)
export const keccak256 = lazy(() => loadUtils().keccak256)
export const numberToHex = lazy(() => loadUtils().numberToHex)
export const parseAbi = lazy(() => loadUtils().parseAbi)
export const parseEther = lazy(() => loadUtils().parseEther)
export const parseGwei = lazy(() => loadUtils().parseGwei)
export const publicKeyToAddress = lazy(() => loadUtils().publicKeyToAddress)
export const recoverAddress = lazy(() => loadUtils().recoverAddress)
export const serializeTransaction = lazy(() => loadUtils().serializeTransaction)
export const size = lazy(() => loadUtils().size)
export const slice = lazy(() => loadUtils().slice)
export const sign = lazy(() => loadAccounts().sign)

/** The words of BIP-39 in English. */
export const englishWords = (): readonly string[] => loadAccounts().english

/** The key at the root of the tree of BIP-32. */
export const masterKeyOf = (seed: Uint8Array): HDKey => loadAccounts().HDKey.fromMasterSeed(seed)
