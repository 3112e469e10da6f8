import { isoTime } from '../../../base/clock.ts'
import { getAddress } from '../../../base/viem.ts'
import type { Chain, Chains } from '../../onchain/index.ts'
import { unexpectedIn, type RequestRow, type StoredRequest } from './request-rows.ts'
import type { RequestState, RequestStatus } from './request-state.ts'

/** Of a chain that the configuration has no more. */
const DEPTH = 12

export type PaymentRequest = {
  _id: string
  receiverAddress: string
  /** In the smallest unit of the token. */
  amount: string
  displayAmount: string
  token: string
  chain: string
  status: RequestStatus
  expiresAt: string
  createdAt: string
  transactionId: string
  /** EIP-681, for wallet programs. */
  paymentUri: string
}

export type PaymentRequestDetails = PaymentRequest & {
  /** In the smallest unit of the token. */
  receivedAmount: string
  confirmations: number
  transactionHashes: string[]
  unexpected: { chain: string; token: string; amount: string }[]
}

export const chainNamed = (chains: Pick<Chains, 'all'>, name: string): Chain | undefined =>
  chains.all.find((one) => one.name === name)

/** How many confirmations are enough for a request. */
export const depthOf = (chains: Pick<Chains, 'all'>, { request }: StoredRequest): number =>
  chainNamed(chains, request.chain)?.depth ?? DEPTH

/** A request with what arrived. */
export const detailsOf = (
  chains: Pick<Chains, 'all'>,
  stored: StoredRequest,
  state: RequestState,
): PaymentRequestDetails => ({
  ...answerOf(stored, state.status),
  receivedAmount: state.received.toString(),
  confirmations: state.confirmations,
  transactionHashes: [...state.transactionHashes],
  unexpected: unexpectedIn(stored).map(({ chain, contract, amount }) => ({
    chain,
    token: symbolOf(chains, chain, contract),
    amount: amount.toString(),
  })),
})

const symbolOf = (chains: Pick<Chains, 'all'>, name: string, contract: string): string => {
  const chain = chainNamed(chains, name)
  if (contract === '') return chain?.symbol ?? name
  const tokenEntry = Object.entries(chain?.tokens ?? {}).find(
    ([, address]) => address.toLowerCase() === contract,
  )
  return tokenEntry?.[0] ?? getAddress(contract)
}

const UNPAID: ReadonlySet<RequestStatus> = new Set(['pending', 'expired'])

/** The status that is answered: the chain knows nothing of a cancellation, and what arrives all the same counts. */
export const statusShown = ({ order }: Pick<StoredRequest, 'order'>, status: RequestStatus): RequestStatus =>
  order.status === 'cancelled' && UNPAID.has(status) ? 'cancelled' : status

/** A request as it is answered when it is created. */
export const answerOf = ({ request, order }: StoredRequest, status: RequestStatus): PaymentRequest => ({
  _id: request.id,
  receiverAddress: getAddress(request.address),
  amount: order.amount,
  displayAmount: request.display_amount,
  token: request.token,
  chain: request.chain,
  status: statusShown({ order }, status),
  expiresAt: isoTime(request.expires_at),
  createdAt: isoTime(request.created_at),
  transactionId: request.id,
  paymentUri: paymentUri(request, order.amount),
})

/** https://eips.ethereum.org/EIPS/eip-681 */
const paymentUri = ({ chain_id: chainId, contract, address }: RequestRow, amount: string): string =>
  contract === ''
    ? `ethereum:${getAddress(address)}@${chainId}?value=${amount}`
    : `ethereum:${getAddress(contract)}@${chainId}/transfer?address=${getAddress(address)}&uint256=${amount}`
