import type { Address, Hex } from '../../../base/hex.ts'
import type { Step } from '../../../db/database.ts'
import type { Chain } from '../chains/chain.ts'
import type { ContractInterface } from '../chains/revert-reason.ts'
import type { Signer } from '../wallets/signer.ts'
import type { TransactionKind, OnchainTransactionRow } from './transaction-rows.ts'

/** What is to be sent. */
export type Intent = {
  chain: Chain
  signer: Signer
  /** The user or service key that sends. */
  owner: string
  /** Empty: of an address that is no wallet. */
  walletId: string
  kind: TransactionKind
  to: Address
  /** Wei. */
  value: bigint
  data?: Hex
  /** Of the contract that is called, to decode its errors. */
  abi?: ContractInterface
  /** Of the caller: the same one again sends nothing, and answers what was sent. */
  reference?: string
  /** Further steps of the batch that stores the signed transaction. */
  stepsSql?: (transaction: OnchainTransactionRow) => readonly Step[]
}

/**
 * Checks, signs and stores what is to be sent. Once it resolves, the signed transaction is stored and will be sent, whatever
 * happens to this process. What is refused is not signed.
 *
 * @throws CONTRACT_REVERTED with the decoded reason; INSUFFICIENT_FUNDS; LIMIT_EXCEEDED; PROVIDER_ERROR if no node answers
 */
export type Submit = (intent: Intent) => Promise<OnchainTransactionRow>
