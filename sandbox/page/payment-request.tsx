import { href, Link } from '../../console/src/parts/router.tsx'
import { Copy } from '../../console/src/parts/text.tsx'
import { Actions, text, type PageAction } from './actions.tsx'
import { grouped, typedAmount } from './amounts.ts'
import { coin } from './fund-form.tsx'
import { Badge, FactList, moment, Title } from './panes.tsx'

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

const TONES: Readonly<Record<string, string>> = {
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

export const RequestBadge = ({ status }: { status: string }) => (
  <Badge tone={TONES[status] ?? ''}>{status}</Badge>
)

/** What the reader shows of a payment request. */
export function RequestReader({ request }: { request: SandboxPaymentRequest }) {
  const shown = `${grouped(request.displayAmount)} ${request.token}`
  return (
    <>
      <Title part="chains" back="chains">
        {shown}
      </Title>
      <div class="stack">
        <FactList copied of={factsOf(request)} />
        <div class="panel">
          <h4>What happens next</h4>
          <Actions part="chains" actions={actionsOf(request, shown)} />
        </div>
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
      field: text(`Amount in ${token}`, displayAmount),
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

const factsOf = (request: SandboxPaymentRequest): Parameters<typeof FactList>[0]['of'] => {
  const { status, chain, token, receiverAddress, expiresAt, received, confirmations } = request
  return [
    ['Status', <RequestBadge status={status} />, ` ${WORDS[status] ?? ''}`],
    ['Received', received !== '0' && `${grouped(received)} ${token}`],
    ['Confirmations', received !== '0' && String(confirmations)],
    ...request.transactionHashes.map(
      (hash) =>
        ['Transaction', <code>{hash}</code>, <Copy text={hash} what="the transaction hash" />] as const,
    ),
    ['Chain', <Link to={href(['chains', chain])}>{chain}</Link>],
    ['Receiving address', <code>{receiverAddress}</code>, <Copy text={receiverAddress} what="the address" />],
    ['Expires', moment(expiresAt)],
  ]
}
