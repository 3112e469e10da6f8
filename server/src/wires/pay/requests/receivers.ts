import { ECDH } from 'node:crypto'

import type { Address } from '../../../base/hex.ts'
import { once } from '../../../base/once.ts'
import { bytesToHex, publicKeyToAddress, sign } from '../../../base/viem.ts'
import { StartError } from '../../../base/start-error.ts'
import type { Database } from '../../../db/database.ts'
import { sql } from '../../../db/sql.ts'
import type { Signer } from '../../onchain/index.ts'
import { accountKeyOf, mnemonicFault } from './mnemonic.ts'

/** An address at which one request is paid. */
export type ReceivingAddress = { fingerprint: string; index: number; address: Address }

/** The receiving addresses of a mnemonic: m/44'/60'/0'/0/0, /1, …, as any wallet program finds them. */
export type Receivers = {
  /** The address at index 0, which tells mnemonics apart. */
  readonly fingerprint: string
  /** Takes the next address. It is never given again, by any replica and after any crash. */
  next(): Promise<ReceivingAddress>
  /** The signer of an address. The private key is derived for each signature. */
  signerOf(index: number): Signer
}

/** @throws StartError that names the variable of the mnemonic, and does not show it */
export function createReceivers(
  { db }: { db: Pick<Database, 'write'> },
  { mnemonic }: { mnemonic: string },
): Receivers {
  const fault = mnemonicFault(mnemonic)
  if (fault !== undefined) throw new StartError(`PAYMENT_MNEMONIC: ${fault}`)
  // At the first request: the arithmetic takes 30 ms.
  const publicKey = once(() => accountKeyOf(mnemonic).wipePrivateData())
  const addressOf = (index: number): Address => addressOfKey(publicKey().deriveChild(index).publicKey!)
  const fingerprint = once(() => addressOf(0))

  return {
    get fingerprint() {
      return fingerprint()
    },
    async next() {
      const [row] = await db.write(sql<{ next_index: number }>`
        insert into pay_receivers (fingerprint, next_index) values (${fingerprint()}, 1)
        on conflict (fingerprint) do update set next_index = pay_receivers.next_index + 1
        returning next_index`)
      const index = row!.next_index - 1
      return { fingerprint: fingerprint(), index, address: addressOf(index) }
    },
    signerOf: (index) => ({
      address: addressOf(index),
      async sign(hash) {
        const privateKey = bytesToHex(accountKeyOf(mnemonic).deriveChild(index).privateKey!)
        const { r, s, yParity } = await sign({ hash, privateKey })
        return { kind: 'accepted', signature: { r, s, yParity: yParity === 1 ? 1 : 0 } }
      },
    }),
  }
}

function addressOfKey(compressed: Uint8Array): Address {
  const key = ECDH.convertKey(Buffer.from(compressed), 'secp256k1', undefined, undefined, 'uncompressed')
  return publicKeyToAddress(bytesToHex(Buffer.from(key)))
}
