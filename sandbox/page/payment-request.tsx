import { href, Link } from '../../console/src/parts/router.tsx'
import { Badge, Facts, Id, Time, type Tone } from '../../console/src/parts/text.tsx'
import { Actions, text, type PageAction } from './actions.tsx'
import { grouped, typedAmount } from './amounts.ts'
import { coin } from './fund-form.tsx'
import { Title } from './panes.tsx'

export type SandboxPaymentRequest = {
  _id: string
  status: string
  chain: string
  token: string
  displayAmount: string
  receiverAddress: string
  expiresAt: string
  received: string
  confirmations: number
  transactionHashes: string[]
}

const TONES: Readonly<Record<string, Tone>> = {
  pending: 'warning',
  detected: 'warning',
  confirmed: 'good',
  overpaid: 'good',
  underpaid: 'bad',
  late: 'bad',
}
const WORDS: Readonly<Record<string, string>> = {
  pending: 'Nothing has arrived yet.',
  detected: 'A payment is in a block that is not deep enough yet.',
  confirmed: 'All of it has arrived.',
  overpaid: 'More than asked for has arrived. The payment is completed.',
  underpaid: 'Less than asked for has arrived. The rest can be paid until it expires.',
  expired: 'It was not paid in time.',
  late: 'It was paid after it had expired. This completes nothing.',
}
/** The states in which a payment still counts. */
const OPEN = ['pending', 'detected', 'underpaid']

export const RequestBadge = ({ status }: { status: string }) => <Badge tone={TONES[status]}>{status}</Badge>

/** What the reader shows of a payment request. */
export function RequestReader({ request }: { request: SandboxPaymentRequest }) {
  const shown = `${grouped(request.displayAmount)} ${request.token}`
  return (
    <>
      <Title>{shown}</Title>
      <Facts of={factsOf(request)} />
      <div class="panel">
        <h3>What happens next</h3>
        <Actions part="chains" actions={actionsOf(request, shown)} />
      </div>
    </>
  )
}

function actionsOf(request: SandboxPaymentRequest, shown: string): readonly PageAction[] {
  const { _id, status, chain, token, displayAmount, receiverAddress } = request
  const mine: PageAction = {
    label: 'Mine a block',
    path: `/chains/${chain}/mine`,
    body: () => ({}),
    done: 'The block is mined',
    isRepeatable: true,
  }
  if (!OPEN.includes(status)) return [mine]
  return [
    {
      label: 'Pay this request',
      path: `/chains/requests/${encodeURIComponent(_id)}/pay`,
      done: `${shown} are sent`,
      isPrimary: true,
    },
    {
      label: 'Pay another amount',
      field: text('amount', `Amount in ${token}`, displayAmount),
      path: `/chains/${chain}/pay`,
      body: (typed) => ({
        to: receiverAddress,
        amount: typed === '' ? displayAmount : typedAmount(typed),
        ...coin(token),
      }),
      done: 'The amount is sent',
    },
    mine,
  ]
}

function factsOf(request: SandboxPaymentRequest): Parameters<typeof Facts>[0]['of'] {
  const { status, chain, token, receiverAddress, expiresAt, received, confirmations } = request
  return [
    [
      'Status',
      <>
        <RequestBadge status={status} /> {WORDS[status]}
      </>,
    ],
    received !== '0' && ['Received', `${grouped(received)} ${token}`],
    received !== '0' && ['Confirmations', confirmations],
    ...request.transactionHashes.map(
      (hash) => ['Transaction', <Id what="the transaction hash">{hash}</Id>] as const,
    ),
    ['Chain', <Link to={href(['chains', chain])}>{chain}</Link>],
    ['Receiving address', <Id what="the address">{receiverAddress}</Id>],
    ['Expires', <Time at={expiresAt} />],
  ]
}
