import { List } from '../../parts/list.tsx'
import { Owner } from '../../parts/owner.tsx'
import { queryValue, sortInPlace } from '../../parts/router.tsx'
import { six } from '../../parts/session.ts'
import { Badge, Text, Time } from '../../parts/text.tsx'
import { TransactionPane } from './pane.tsx'
import { idOf, TONES, type ShownTransaction } from './transaction.ts'

const FILTERS = ['stuck', 'pending', 'confirmed', 'failed'] as const

async function load({ cursor, signal }: { cursor: string | undefined; signal: AbortSignal }) {
  const { transactions, nextCursor } = await six.call('GET /onchain/transactions', {
    query: {
      status: queryValue('status') as (typeof FILTERS)[number] | undefined,
      chain: queryValue('chain'),
      owner: queryValue('owner'),
      walletId: queryValue('walletId'),
      sort: sortInPlace('createdAt'),
      cursor,
      limit: 100,
      total: 'none',
    },
    signal,
  })
  return { rows: transactions, nextCursor }
}

const shortened = (hash: string): string => `${hash.slice(0, 10)}…${hash.slice(-6)}`

/** What wallets of this server sent, and those transactions that no block takes. */
export default function Transactions() {
  return (
    <List<ShownTransaction>
      title="Transactions"
      at={['transactions']}
      idOf={idOf}
      nameOf={({ hash }) => hash}
      load={load}
      canBeLive
      filters={[
        {
          kind: 'choice',
          name: 'status',
          label: 'Status',
          options: FILTERS.map((status) => [status, status] as const),
        },
        { kind: 'text', name: 'chain', label: 'Chain' },
        { kind: 'text', name: 'walletId', label: 'Id of the wallet' },
        { kind: 'text', name: 'owner', label: 'Owner: email or id' },
      ]}
      columns={[
        {
          name: 'hash',
          title: 'Hash',
          order: ({ hash }) => hash,
          cell: ({ hash }) => <code>{shortened(hash)}</code>,
          width: '176px',
        },
        {
          name: 'chain',
          title: 'Chain',
          order: ({ chain }) => chain,
          cell: ({ chain }) => <Text>{chain}</Text>,
          width: '86px',
          isMinor: true,
        },
        {
          name: 'value',
          title: 'Value',
          order: ({ value }) => Number(value),
          cell: ({ value }) => value,
          isNumber: true,
        },
        {
          name: 'nonce',
          title: 'Nonce',
          order: ({ nonce }) => nonce,
          cell: ({ nonce }) => nonce,
          width: '72px',
          isNumber: true,
          isMinor: true,
        },
        {
          name: 'status',
          title: 'Status',
          order: ({ status }) => status,
          cell: ({ status }) => <Badge tone={TONES[status]}>{status}</Badge>,
          width: '110px',
        },
        {
          name: 'owner',
          title: 'Owner',
          order: ({ owner }) => owner,
          cell: ({ owner }) => owner && <Owner of={owner} />,
          isMinor: true,
        },
        {
          name: 'created',
          title: 'Signed',
          sort: 'createdAt',
          cell: ({ createdAt }) => <Time at={createdAt} />,
          width: '124px',
          isMinor: true,
        },
      ]}
      empty={<p>No wallet of this server has sent a transaction yet.</p>}
      pane={(id, transaction, again) => (
        <TransactionPane id={id} status={transaction?.status} again={again} />
      )}
    />
  )
}
