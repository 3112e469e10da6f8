import { createECDH, createHash } from 'node:crypto'

import type { PrivateKeyAccount } from 'viem'
import { getContractAddress, publicKeyToAddress } from 'viem/utils'

import type { Address, Hex } from '../../../server/src/base/hex.ts'
import { deriveKey } from '../../../server/src/base/crypto.ts'
import { englishWords, privateKeyToAccount } from '../../../server/src/base/viem.ts'

const ACCOUNTS = 10

/** Addresses of the contracts that every chain of the sandbox has. */
export type Contracts = {
  erc20: Address
  erc721: Address
  erc1155: Address
  /** Sends native coin on; no standard. */
  forwarder: Address
}

export type ChainAccounts = {
  /** The accounts with funds, the same on each chain. */
  readonly funded: readonly PrivateKeyAccount[]
  /** The private key of each of them. */
  readonly privateKeys: readonly Hex[]
  /** The account that deploys the contracts of a chain, and mints its tokens. */
  deployer(chain: string): PrivateKeyAccount
  /** The addresses follow from the deployer's nonces, so they are known before a node runs. */
  contracts(chain: string): Contracts
  /** 12 words (BIP-39), from which payments get their addresses. */
  readonly mnemonic: string
  /** An account of nobody else, for what payments gather. */
  readonly treasury: Address
}

/** The accounts of the sandbox's chains, derived from the operator's secret: other secrets have other keys. */
export function createAccounts(secret: string): ChainAccounts {
  const key = deriveKey(secret, 'sandbox.chains')
  const bytes = (purpose: string): Buffer => Buffer.from(key.mac(purpose), 'base64url')
  const keyOf = (purpose: string): Hex => `0x${bytes(purpose).toString('hex')}`
  const deployers = new Map<string, PrivateKeyAccount>()
  const contracts = new Map<string, Contracts>()

  function deployer(chain: string): PrivateKeyAccount {
    const account = deployers.get(chain) ?? privateKeyToAccount(keyOf(`deployer ${chain}`))
    deployers.set(chain, account)
    return account
  }

  const privateKeys = Array.from({ length: ACCOUNTS }, (_, at) => keyOf(`account ${at}`))
  let funded: PrivateKeyAccount[] | undefined
  return {
    get funded() {
      funded ??= privateKeys.map((privateKey) => privateKeyToAccount(privateKey))
      return funded
    },
    privateKeys,
    deployer,
    contracts(chain) {
      const known = contracts.get(chain)
      if (known) return known
      const from = addressOf(bytes(`deployer ${chain}`))
      const at = (nonce: bigint): Address => getContractAddress({ from, nonce })
      const made = { erc20: at(0n), erc721: at(1n), erc1155: at(2n), forwarder: at(3n) }
      contracts.set(chain, made)
      return made
    },
    mnemonic: mnemonicOf(bytes('mnemonic').subarray(0, 16)),
    treasury: addressOf(bytes('treasury')),
  }
}

/** As `privateKeyToAccount`, whose library first computes tables for 25 ms: too long for each start. */
function addressOf(privateKey: Buffer): Address {
  const pair = createECDH('secp256k1')
  pair.setPrivateKey(privateKey)
  return publicKeyToAddress(`0x${pair.getPublicKey('hex')}`)
}

/**
 * The words of 128 bits of entropy: 11 bits a word, the last 4 are a checksum.
 *
 * @see https://github.com/bitcoin/bips/blob/master/bip-0039.mediawiki#generating-the-mnemonic
 */
function mnemonicOf(entropy: Buffer): string {
  const checksum = createHash('sha256').update(entropy).digest()[0]! >> 4
  const english = englishWords()
  const bits = (BigInt(`0x${entropy.toString('hex')}`) << 4n) | BigInt(checksum)
  return Array.from(
    { length: 12 },
    (_, at) => english[Number((bits >> BigInt(121 - 11 * at)) & 0x7ffn)]!,
  ).join(' ')
}
