/** The states of a payment request. */
export const REQUEST_STATUSES = [
  'pending',
  'detected',
  'confirmed',
  'overpaid',
  'underpaid',
  'expired',
  'cancelled',
  'late',
] as const
export type RequestStatus = (typeof REQUEST_STATUSES)[number]

/** What arrived in the token and on the chain that were asked for, in one block. */
export type PaymentReceipt = {
  amount: bigint
  block: number
  /** The block's own time, in milliseconds since 1970. */
  time: number
  /** Undefined: a contract sent coin. */
  transactionHash: string | undefined
}

/** What a request asks for, and how far its chain is. */
export type RequestFacts = {
  amount: bigint
  expiresAt: number
  /** The last block that receipts are known of; undefined: none. */
  head: number | undefined
  /** How many confirmations are enough. */
  depth: number
  /** The first block after the expiry; null: the chain has none yet. */
  expiredBlock: number | null
  /** Whether the time is over and the chain has made no block since. */
  isSilent?: boolean
}

export type RequestState = {
  status: RequestStatus
  /** All that arrived, late or not. */
  received: bigint
  /** Of what made the amount whole; if it is not, of the latest receipt. The block itself is the first. */
  confirmations: number
  /** Oldest first. */
  transactionHashes: readonly string[]
  /** Whether the amount arrived in time, deep enough. */
  isPaid: boolean
  /** Whether no block can change `isPaid` any more, unless a reorganisation is deeper than what counts as final. */
  isFinal: boolean
}

/**
 * Computes a request from what its chain shows. The order of the receipts does not matter.
 *
 * @param receipts each once, of blocks that are part of the chain
 */
export function requestState(request: RequestFacts, receipts: readonly PaymentReceipt[]): RequestState {
  const { amount, expiresAt, expiredBlock } = request
  const confirmationsAt = (block: number): number => Math.max(0, (request.head ?? -1) - block + 1)
  const isDeep = (block: number): boolean => confirmationsAt(block) >= request.depth
  const sorted = receipts.toSorted((one, other) => one.block - other.block)
  const inTime = sorted.filter(({ time }) => time <= expiresAt)
  const deep = sorted.filter(({ block }) => isDeep(block))
  const [received, arrived, settled] = [sorted, inTime, inTime.filter((one) => deep.includes(one))].map(
    sumOf,
  ) as [bigint, bigint, bigint]
  const isPaid = settled >= amount
  const isOver = request.isSilent === true || expiredBlock !== null
  const isFinal = request.isSilent === true || (expiredBlock !== null && isDeep(expiredBlock))

  function status(): RequestStatus {
    if (isPaid) return sumOf(deep) > amount ? 'overpaid' : 'confirmed'
    if (arrived >= amount || arrived > settled) return 'detected'
    if (inTime.length < sorted.length) return 'late'
    if (arrived > 0n) return 'underpaid'
    return isOver ? 'expired' : 'pending'
  }
  const counting = blockOfAmount(inTime, amount) ?? sorted.at(-1)?.block
  return {
    status: status(),
    received,
    confirmations: counting === undefined ? 0 : confirmationsAt(counting),
    transactionHashes: [
      ...new Set(sorted.flatMap(({ transactionHash: hash }) => (hash === undefined ? [] : [hash]))),
    ],
    isPaid,
    isFinal,
  }
}

const sumOf = (receipts: readonly PaymentReceipt[]): bigint =>
  receipts.reduce((sum, one) => sum + one.amount, 0n)

/** The block in which the whole amount was there; undefined if it never was. */
function blockOfAmount(receipts: readonly PaymentReceipt[], amount: bigint): number | undefined {
  let sum = 0n
  return receipts.find((one) => (sum += one.amount) >= amount)?.block
}
