import type { ComponentChildren } from 'preact'

import { hasWire } from '../../parts/installation.ts'
import { Problem, useLoad } from '../../parts/load.tsx'
import { href, Link } from '../../parts/router.tsx'
import { six } from '../../parts/session.ts'
import { Badge, bytes, Text, Time } from '../../parts/text.tsx'

const SHOWN = 5

type Line = { id: string; to: string; text: string; note?: ComponentChildren; at?: string | undefined }

/** Loads some records of a user; `total` is how many there are. */
type LoadLines = (signal: AbortSignal) => Promise<{ lines: readonly Line[]; total: number | undefined }>

/** What a user has in each wire that is loaded: the newest few, and a link to all. */
export function UserRecords({ id }: { id: string }) {
  const owner = id
  const query = { owner, limit: SHOWN }
  return (
    <>
      {hasWire('store') && <Documents owner={owner} />}
      {hasWire('store') && (
        <Section
          title="Files"
          all={href(['files'], { owner })}
          load={async (signal) => {
            const { files, total } = await six.call('GET /store/files', { query, signal })
            const lines = files.map((file) => ({
              id: file._id,
              to: href(['files', file._id], { owner }),
              text: file.originalName,
              note: bytes(file.size),
              at: file.createdAt,
            }))
            return { lines, total }
          }}
        />
      )}
      {hasWire('messaging') && (
        <Section
          title="Messages"
          all={href(['messages'], { owner })}
          load={async (signal) => {
            const { logs, total } = await six.call('GET /messaging/logs', { query, signal })
            const lines = logs.map((message) => ({
              id: message._id,
              to: href(['messages', message._id], { owner }),
              text: `${message.channel} to ${message.to}`,
              note: <Badge tone={message.status === 'failed' ? 'bad' : 'plain'}>{message.status}</Badge>,
              at: message.createdAt,
            }))
            return { lines, total }
          }}
        />
      )}
      {hasWire('pay') && (
        <>
          <Section
            title="Payments"
            all={href(['payments'], { owner })}
            load={async (signal) => {
              const { transactions, total } = await six.call('GET /pay/transactions', { query, signal })
              const lines = transactions.map((payment) => ({
                id: payment._id,
                to: href(['payments', payment._id], { owner }),
                text: `${payment.displayAmount} ${payment.currency}`,
                note: <Badge>{payment.status}</Badge>,
                at: payment.createdAt,
              }))
              return { lines, total }
            }}
          />
          <Section
            title="Payment requests"
            all={href(['payment-requests'], { owner })}
            load={async (signal) => {
              const { requests, total } = await six.call('GET /pay/onchain/payment', { query, signal })
              const lines = requests.map((request) => ({
                id: request._id,
                to: href(['payment-requests', request._id], { owner }),
                text: `${request.displayAmount} ${request.token}`,
                note: <Badge>{request.status}</Badge>,
                at: request.createdAt,
              }))
              return { lines, total }
            }}
          />
        </>
      )}
      {hasWire('onchain') && (
        <Section
          title="Wallets"
          all={href(['wallets'], { owner })}
          load={async (signal) => {
            const { wallets, total } = await six.call('GET /onchain/wallets', { query, signal })
            const lines = wallets.map((wallet) => ({
              id: wallet._id,
              to: href(['wallets', wallet._id], { owner }),
              text: wallet.name ? `${wallet.name} ${wallet.address}` : wallet.address,
              at: wallet.createdAt,
            }))
            return { lines, total }
          }}
        />
      )}
    </>
  )
}

/** How many documents of each collection are the user's. */
const Documents = ({ owner }: { owner: string }) => (
  <Section
    title="Documents"
    load={async (signal) => {
      const { data } = await six.call('GET /store/collections', { query: { limit: 50 }, signal })
      const counted = await Promise.all(
        data.map(async ({ name }) => {
          const { total = 0 } = await six.call('GET /store/:collection', {
            params: { collection: name },
            query: { owner, limit: 1, fields: '_id' },
            signal,
          })
          return { name, total }
        }),
      )
      const lines = counted
        .filter(({ total }) => total > 0)
        .map(({ name, total }) => ({
          id: name,
          to: href(['data', name], { filter: `owner:${owner}` }),
          text: name,
          note: `${total} ${total === 1 ? 'document' : 'documents'}`,
        }))
      return { lines, total: undefined }
    }}
  />
)

function Section({ title, all, load }: { title: string; all?: string; load: LoadLines }) {
  const { value, error, again } = useLoad(load, [])
  return (
    <section class="part">
      <h3>
        {title}
        {value?.total !== undefined && value.total > 0 && <span class="soft"> {value.total}</span>}
      </h3>
      {error !== undefined && <Problem error={error} again={again} />}
      {error === undefined && value === undefined && <p class="soft">Loading…</p>}
      {value?.lines.length === 0 && <p class="soft">None.</p>}
      {value !== undefined && value.lines.length > 0 && (
        <ul class="rows">
          {value.lines.map(({ id, to, text, note, at }) => (
            <li key={id}>
              <Link to={to}>
                <Text>{text}</Text>
              </Link>
              <span class="soft">
                {note} {at !== undefined && <Time at={at} />}
              </span>
            </li>
          ))}
        </ul>
      )}
      {all !== undefined && (value?.total ?? 0) > SHOWN && <Link to={all}>Show all {value!.total}</Link>}
    </section>
  )
}
