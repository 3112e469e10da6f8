import type { RowFilter } from '../../../http/access.ts'
import type { Page } from '../../../http/page.ts'
import type { WireContext } from '../../../kernel/wire.ts'
import type { KeyStore, Signer } from './signer.ts'

export type Wallet = { _id: string; address: string; name?: string; createdAt: string }

/** The signer of a wallet. */
export type WalletSigner = Signer & { readonly walletId: string }

export type Wallets = {
  create(owner: string, name: string | undefined): Promise<Wallet>
  /** @throws VALIDATION_ERROR if it is no key of the curve; CONFLICT if its address is a wallet's already */
  import(owner: string, privateKey: string, name: string | undefined): Promise<Wallet>
  /** Reads one page, newest first. */
  list(rowFilter: RowFilter, page: Page): Promise<{ wallets: Wallet[]; total: number; nextCursor?: string }>
  /** @throws NOT_FOUND */
  get(id: string, rowFilter: RowFilter): Promise<Wallet>
  /** @throws NOT_FOUND */
  signerOf(id: string, rowFilter: RowFilter): Promise<WalletSigner>
  /** The signer of a wallet's address; undefined if it is no wallet's. */
  signerAt(address: string): Promise<Signer | undefined>
  /** Makes the data key, or checks that SIXWIRE_SECRET opens it. */
  start(): Promise<void>
}

/** @param _keys where new keys are made, if not in the database */
export function createWallets(_context: WireContext, _keys: KeyStore | undefined): Wallets {
  const missing = () => Promise.reject(new Error('not built yet'))
  return {
    create: missing,
    import: missing,
    list: missing,
    get: missing,
    signerOf: missing,
    signerAt: async () => undefined,
    start: async () => undefined,
  }
}
