import { secp256k1 } from '../../../base/viem.ts'
import type { Address, Hex } from '../../../base/hex.ts'
import { isoTime } from '../../../base/clock.ts'
import { errors, invalid } from '../../../base/errors.ts'
import { StartError } from '../../../base/start-error.ts'
import { includesOwner, type RowFilter } from '../../../base/row-filter.ts'
import { containsPattern } from '../../../db/contains.ts'
import { requireRow } from '../../../db/database.ts'
import { sql, type Sql } from '../../../db/sql.ts'
import { COMMAND_LINE, type Actor } from '../../../http/actor.ts'
import type { Page } from '../../../http/page.ts'
import { createCountedList } from '../../../kernel/requests/counted-list.ts'
import type { WireContext } from '../../../kernel/wire/wire.ts'
import { guarded } from '../../../providers/guard.ts'
import { onchainErrors } from '../errors.ts'
import { createLocalKeys, LOCAL } from './local-keys.ts'
import type { KeyStore, Signer, StoredKey } from './signer.ts'

const CREATE_MS = 10_000

export type Wallet = {
  _id: string
  /** In EIP-55 form. */
  address: Address
  name?: string
  createdAt: string
  /** The user whose it is. */
  owner: string
}

export type WalletPage = { wallets: Wallet[]; total: number | undefined; nextCursor?: string }

/** What signs for a wallet. */
export type WalletSigner = Signer & { readonly walletId: string; readonly owner: string }

/** What a new wallet is stored with; `id` is the same in a repeated call. */
export type NewWallet = { id: string; owner: string; name?: string | undefined }

export type Wallets = {
  /** Creates a wallet with a new key; the audit log has it if an operator does. @throws PROVIDER_ERROR if the key management service gives none */
  create(wallet: NewWallet, actor?: Actor): Promise<Wallet>
  /**
   * Stores a wallet with a key that exists, which the audit log has.
   *
   * @param privateKey 32 bytes in hex, from the request
   * @throws VALIDATION_ERROR if it is no private key, or keys are not imported here; CONFLICT if the address has a wallet
   */
  import(wallet: NewWallet, privateKey: string, actor?: Actor): Promise<Wallet>
  /** Reads one page, newest first. @param query.q text within the name or the address, or the id */
  list(rowFilter: RowFilter, query: { q?: string }, page: Page): Promise<WalletPage>
  /** @throws NOT_FOUND */
  get(id: string, rowFilter: RowFilter): Promise<Wallet>
  /** What signs for a wallet. @throws NOT_FOUND */
  signerOf(id: string, rowFilter: RowFilter): Promise<WalletSigner>
  /** What signs for an address; undefined if it is no wallet's. */
  signerAt(address: Address): Promise<WalletSigner | undefined>
  /** The private key of a wallet, in hex; undefined if it is at a key store. @throws StartError if it cannot be decrypted */
  privateKeyOf(wallet: WalletRow): Promise<Hex | undefined>
  /** @throws StartError if `SIXWIRE_SECRET` is not the one under which keys are encrypted */
  start(): Promise<void>
  /** Rejects, with a sentence for the operator, if new keys cannot be created. */
  check(): Promise<void>
  close(): Promise<void>
}

/** A wallet as it is stored. */
export type WalletRow = {
  id: string
  owner: string
  name: string | null
  address: Address
  key_store: string
  key_reference: string
  is_created_here: 0 | 1
  created_at: number
}

const COLUMNS = sql.literal('id, owner, name, address, key_store, key_reference, is_created_here, created_at')
const VERBS = ['create', 'sign', 'check', 'close'] as const
const PRIVATE_KEY = /^0x[\da-fA-F]{64}$/

/** @param keys where keys are created; default: encrypted in the database, as those of wallets that are there already stay */
export function createWallets(
  { db, clock, log, settings, audit }: WireContext,
  { keys }: { keys: KeyStore | undefined },
): Wallets {
  const local = createLocalKeys({ db, clock }, { secret: settings.secret })
  if (keys) checkKeyStore(keys)
  const store = keys ?? local
  const stores = new Map([local, store].map((one) => [one.name, one]))
  const list = createCountedList<WalletRow>(
    { db },
    {
      name: 'onchain.wallets',
      table: sql.literal('onchain_wallets'),
      columns: COLUMNS,
    },
  )

  const findById = (id: string): Promise<WalletRow | undefined> =>
    db.get<WalletRow>(sql`select ${COLUMNS} from onchain_wallets where id = ${id}`)

  async function find(id: string, rowFilter: RowFilter): Promise<WalletRow> {
    const row = await findById(id)
    if (!row || !includesOwner(rowFilter, row.owner))
      throw errors.not_found({ message: 'There is no wallet of this id.' })
    return row
  }

  /** Stores a wallet, and answers it; undefined if its address, or the same call, has stored one already. */
  async function insert(
    { id, owner, name }: NewWallet,
    key: StoredKey,
    { isCreatedHere, actor }: { isCreatedHere: boolean; actor: Actor },
  ): Promise<WalletRow | undefined> {
    const isThere = errors.conflict()
    try {
      const [[row]] = await db.batch([
        requireRow(
          sql<WalletRow>`
            insert into onchain_wallets (${COLUMNS})
            values (${id}, ${owner}, ${name ?? null}, ${key.address}, ${store.name}, ${key.reference},
              ${isCreatedHere ? 1 : 0}, ${clock.now()})
            on conflict do nothing returning ${COLUMNS}`,
          () => isThere,
        ),
        ...(isCreatedHere && !isOperator(actor)
          ? []
          : [
              audit.entrySql(actor, {
                action: isCreatedHere ? 'wallet.created' : 'wallet.imported',
                target: `wallet:${id}`,
                after: { address: key.address, owner, name },
              }),
            ]),
      ])
      return row
    } catch (error) {
      if (error === isThere) return undefined
      throw error
    }
  }

  function signerFor({
    id,
    owner,
    address,
    key_store,
    key_reference,
    is_created_here,
  }: WalletRow): WalletSigner {
    const keyStore = stores.get(key_store)
    const key = { address, reference: key_reference }
    return {
      walletId: id,
      owner,
      address,
      isLocal: keyStore === local,
      isCreatedHere: is_created_here === 1,
      sign: async (hash, limitMs) =>
        keyStore
          ? guarded(() => keyStore.sign(key, hash, limitMs), { limitMs, clock })
          : { kind: 'refused', reason: `the key of ${address} is at ${key_store}, which is not configured` },
    }
  }

  return {
    async create(wallet, actor = COMMAND_LINE) {
      // The call may be a repetition, and a key at a service costs money.
      const earlier = await findById(wallet.id)
      if (earlier) return walletOf(earlier)
      const outcome = await guarded(() => store.create(CREATE_MS), { limitMs: CREATE_MS, clock })
      if (outcome.kind !== 'accepted') {
        log.warn({ wallet: wallet.id, keys: store.name, reason: outcome.reason }, 'no key could be created')
        throw onchainErrors.provider_error({
          message: 'The key of the wallet could not be created: try again shortly.',
        })
      }
      return walletOf(
        (await insert(wallet, outcome.key, { isCreatedHere: true, actor })) ?? (await findById(wallet.id))!,
      )
    },

    async import(wallet, privateKey, actor = COMMAND_LINE) {
      if (!store.import)
        throw invalid({
          path: '/body/privateKey',
          message: `keys can't be imported: all keys of this server are created at ${store.name} and stay there`,
        })
      const key = await store.import(checkedKey(privateKey))
      const row = (await insert(wallet, key, { isCreatedHere: false, actor })) ?? (await findById(wallet.id))
      if (!row || row.address !== key.address)
        throw errors.conflict({ message: 'The address of this key has a wallet already.' })
      return walletOf(row)
    },

    async list(rowFilter, { q }, page) {
      const { rows, ...rest } = await list(rowFilter, q === undefined ? [] : [searchSql(q)], page)
      return { wallets: rows.map(walletOf), ...rest }
    },

    get: async (id, rowFilter) => walletOf(await find(id, rowFilter)),

    signerOf: async (id, rowFilter) => signerFor(await find(id, rowFilter)),

    async signerAt(address) {
      const row = await db.get<WalletRow>(
        sql`select ${COLUMNS} from onchain_wallets where address = ${address}`,
      )
      return row && signerFor(row)
    },

    privateKeyOf: async ({ address, key_store, key_reference }) =>
      key_store === LOCAL ? local.read({ address, reference: key_reference }) : undefined,

    start: () => local.check(),
    check: () => store.check(),
    async close() {
      await Promise.all(Array.from(stores.values(), (one) => one.close()))
    },
  }
}

/** An operator's own one may be written in plain JavaScript. */
function checkKeyStore(keys: KeyStore): void {
  const missing = VERBS.find((verb) => typeof keys[verb] !== 'function')
  if (missing !== undefined) throw new StartError(`onchain.keys: the key store has no ${missing}()`)
  if (!/^[a-z][a-z\d-]*$/.test(keys.name) || keys.name === LOCAL)
    throw new StartError(`onchain.keys: the key store must have a name like aws-kms, other than ${LOCAL}`)
}

const isOperator = ({ kind, role }: Actor): boolean => kind !== 'user' || role === 'admin'

function searchSql(text: string): Sql {
  const pattern = containsPattern(text.toLowerCase())
  return sql`(id = ${text} or lower(address) like ${pattern} escape '!' or lower(name) like ${pattern} escape '!')`
}

const walletOf = ({ id, address, name, owner, created_at }: WalletRow): Wallet => ({
  _id: id,
  address,
  ...(name !== null && { name }),
  createdAt: isoTime(created_at),
  owner,
})

/** No message quotes the key: a wrong one may be a right one with a slip. */
function checkedKey(text: string): Hex {
  const fault = (message: string) => invalid({ path: '/body/privateKey', message })
  if (!PRIVATE_KEY.test(text)) throw fault('must be 32 bytes in hex: 0x and 64 characters of 0-9, a-f')
  if (!secp256k1().utils.isValidPrivateKey(text.slice(2)))
    throw fault('is no private key: it must be above 0 and below the order of secp256k1')
  return text.toLowerCase() as Hex
}
