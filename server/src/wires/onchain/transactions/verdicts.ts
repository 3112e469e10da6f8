// What the texts mean with which nodes refuse a signed transaction: there are no codes for them that nodes agree on.

/**
 * - `known`: the node has these very bytes, or had them;
 * - `never`: it takes these bytes at no time, because of their size, gas or fee, which its pool never changes its mind about;
 * - `later`: anything else. A nonce that is too low may be that of the same transaction, mined; money may come in; a pool may
 *   empty; what is underpriced may be a version of the same transaction. A text that is not in the table is here, too.
 */
export type Verdict = 'known' | 'never' | 'later'

/**
 * Sources, of the texts as of 2026:
 *
 * - geth: core/txpool/errors.go, core/txpool/validation.go, core/error.go, and checkTxFee of internal/ethapi/api.go at
 *   https://github.com/ethereum/go-ethereum. Arbitrum, Base and other rollups answer the same texts.
 * - erigon: DiscardReason of txnprovider/txpool/txpoolcfg/txpoolcfg.go at https://github.com/erigontech/erigon
 * - nethermind: AcceptTxResult.cs and TxErrorMessages.cs at https://github.com/NethermindEth/nethermind
 * - reth: crates/rpc/rpc-eth-types/src/error at https://github.com/paradigmxyz/reth, which follows geth
 * - besu: RpcErrorType.java at https://github.com/hyperledger/besu
 *
 * A signature or chain id that a node calls invalid is not here: no other transaction of the same key would be taken.
 */
const TEXTS: readonly (readonly [verdict: Verdict, pattern: RegExp, nodes: string])[] = [
  ['known', /already known|existing txn with same hash/i, 'geth, erigon, reth'],
  ['known', /AlreadyKnown/, 'nethermind'],
  ['known', /\bknown transaction|already imported/i, 'besu, anvil'],
  ['never', /oversized data/i, 'geth, erigon, reth'],
  ['never', /RLPTooLong/, 'erigon'],
  ['never', /MaxTxSizeExceeded/, 'nethermind'],
  ['never', /exceeds block gas limit/i, 'geth, erigon, reth, besu'],
  ['never', /GasLimitExceeded/, 'nethermind'],
  ['never', /transaction gas limit too high|^gas limit is too high/i, 'geth, reth, erigon (EIP-7825)'],
  ['never', /intrinsic gas too low|insufficient gas for floor data gas cost/i, 'geth, reth'],
  ['never', /\bIntrinsicGas/, 'erigon, nethermind'],
  ['never', /Intrinsic gas exceeds gas limit/i, 'besu'],
  ['never', /exceeds the configured cap/i, 'geth, erigon, reth (--rpc.txfeecap)'],
  ['never', /Transaction fee cap exceeded/i, 'besu (--rpc-tx-feecap)'],
]

/** What a node means by the text of its error to `eth_sendRawTransaction`. */
export const verdictOf = (text: string): Verdict =>
  TEXTS.find(([, pattern]) => pattern.test(text))?.[0] ?? 'later'

/** Texts about bytes that may be in a pool or block already, or be outbid by what is: nothing to report. */
export const isUsual = (text: string): boolean =>
  verdictOf(text) === 'known' || /nonce|underpriced|could not replace existing tx/i.test(text)
