import { randomBytes } from 'node:crypto'

import type { Address, Hex } from '../../../base/hex.ts'
import { bytesToHex, hexToBytes, numberToHex, publicKeyToAddress, secp256k1 } from '../../../base/viem.ts'
import { deriveKey, keyOf, type Key } from '../../../base/crypto.ts'
import { StartError } from '../../../base/start-error.ts'
import { sql } from '../../../db/sql.ts'
import type { SealedColumn } from '../../../kernel/secret/sealed.ts'
import type { KeyStore, StoredKey } from './signer.ts'
import type { WireContext } from '../../../kernel/wire/wire.ts'

/** The name of the store in the rows of its wallets. */
export const LOCAL = 'local'

const DATA_KEY_BYTES = 32
const PURPOSE = 'onchain-data-key'

/** What is encrypted under SIXWIRE_SECRET here. After a rotation of the secret, new wallets get a new data key. */
export const LOCAL_KEYS_SEALED: SealedColumn = {
  table: 'onchain_data_keys',
  key: ['number'],
  column: 'ciphertext',
  purpose: PURPOSE,
  retiredAt: 'retired_at',
}

export type LocalKeys = KeyStore &
  Required<Pick<KeyStore, 'import'>> & {
    /** A private key, in hex. @throws StartError if it cannot be decrypted */
    read(key: StoredKey): Promise<Hex>
  }

type DataKey = { number: number; key: Key; isRetired: boolean }
type Row = { number: number; ciphertext: string; retired_at: number | null }

/**
 * Private keys in the database: each encrypted with a data key, which is itself encrypted under `SIXWIRE_SECRET`. A key is
 * bound to its address, so that the keys of two wallets cannot be swapped in the database. It is decrypted only to sign,
 * and the memory is overwritten afterwards.
 */
export function createLocalKeys(
  { db, clock }: Pick<WireContext, 'db' | 'clock'>,
  { secret }: { secret: string },
): LocalKeys {
  const secretKey = deriveKey(secret, PURPOSE)
  let dataKeys: readonly DataKey[] = []
  let reading: Promise<void> | undefined

  async function readDataKeys(): Promise<void> {
    const rows = await db.all<Row>(
      sql`select number, ciphertext, retired_at from onchain_data_keys order by number`,
    )
    dataKeys = rows.map(
      ({ number, ciphertext, retired_at }) =>
        dataKeys.find((one) => one.number === number) ?? {
          number,
          key: openDataKey(ciphertext, number),
          isRetired: retired_at !== null,
        },
    )
  }

  function openDataKey(ciphertext: string, number: number): Key {
    try {
      return keyOf(Buffer.from(secretKey.open(ciphertext), 'base64url'))
    } catch {
      throw new StartError(
        `SIXWIRE_SECRET: the keys of the wallets in this database (data key ${number}) were encrypted with another secret: ` +
          'restore that secret. If it is lost, so are these keys: empty the tables onchain_wallets and onchain_data_keys',
      )
    }
  }

  /** Concurrent calls read once. */
  async function readAgain(): Promise<void> {
    reading ??= readDataKeys().finally(() => (reading = undefined))
    await reading
  }

  const newest = (): DataKey | undefined => dataKeys.findLast(({ isRetired }) => !isRetired)

  /** The data key of new keys; created with the first one. */
  async function currentDataKey(): Promise<DataKey> {
    if (!newest()) await readAgain()
    if (!newest()) {
      const number = (dataKeys.at(-1)?.number ?? 0) + 1
      const ciphertext = secretKey.seal(randomBytes(DATA_KEY_BYTES).toString('base64url'))
      // Of replicas that do this at the same time one inserts the row, and all use it.
      await db.write(sql`
        insert into onchain_data_keys (number, ciphertext, created_at)
        values (${number}, ${ciphertext}, ${clock.now()}) on conflict (number) do nothing`)
      await readAgain()
    }
    const current = newest()
    if (!current) throw new Error('onchain_data_keys has no key for new wallets')
    return current
  }

  async function dataKeyOf(number: number): Promise<Key> {
    const find = (): DataKey | undefined => dataKeys.find((one) => one.number === number)
    if (!find()) await readAgain()
    const key = find()
    if (!key) throw new Error(`onchain_data_keys has no key ${number}`)
    return key.key
  }

  async function store(privateKey: Uint8Array): Promise<StoredKey> {
    try {
      const address = publicKeyToAddress(bytesToHex(secp256k1().getPublicKey(privateKey, false)))
      const { number, key } = await currentDataKey()
      return { address, reference: `${number}.${key.sealBytes(privateKey, contextOf(address))}` }
    } finally {
      privateKey.fill(0)
    }
  }

  return {
    name: LOCAL,

    async create() {
      try {
        return { kind: 'accepted', key: await store(secp256k1().utils.randomPrivateKey()) }
      } catch (error) {
        return { kind: 'retry', reason: reasonOf(error) }
      }
    },

    import: (privateKey) => store(hexToBytes(privateKey)),

    async sign({ address, reference }, hash) {
      let key: Key
      const [number = '', ciphertext = ''] = reference.split('.')
      try {
        key = await dataKeyOf(Number(number))
      } catch (error) {
        return { kind: 'retry', reason: reasonOf(error) }
      }
      let privateKey: Buffer
      try {
        privateKey = key.openBytes(ciphertext, contextOf(address))
      } catch {
        return {
          kind: 'refused',
          reason: `the key of ${address} cannot be decrypted: its row in onchain_wallets was changed`,
        }
      }
      try {
        const { r, s, recovery } = secp256k1().sign(hash.slice(2), privateKey, { lowS: true })
        const signature = {
          r: numberToHex(r, { size: 32 }),
          s: numberToHex(s, { size: 32 }),
          yParity: recovery === 0 ? 0 : 1,
        } as const
        return { kind: 'accepted', signature }
      } finally {
        privateKey.fill(0)
      }
    },

    async read({ address, reference }) {
      const [number = '', ciphertext = ''] = reference.split('.')
      try {
        return bytesToHex((await dataKeyOf(Number(number))).openBytes(ciphertext, contextOf(address)))
      } catch (cause) {
        throw new StartError(
          `the key of ${address} cannot be decrypted: its row in onchain_wallets was changed`,
          {
            cause,
          },
        )
      }
    },

    check: () => readAgain(),
    close: async () => undefined,
  }
}

const contextOf = (address: Address): string => address.toLowerCase()

const reasonOf = (error: unknown): string => (error instanceof Error ? error.message : String(error))
