import type { ComponentChildren } from 'preact'

import { Show, useLoad } from '../../parts/load.tsx'
import { href, Link } from '../../parts/router.tsx'
import { six } from '../../parts/session.ts'
import { Text, Time } from '../../parts/text.tsx'
import { moneyText } from './amounts.ts'
import { State } from './state.tsx'

type Entry = Awaited<ReturnType<typeof fetchTimeline>>['entries'][number]

const fetchTimeline = (id: string, signal: AbortSignal) =>
  six.call('GET /pay/transactions/:id/timeline', { params: { id }, signal })

/** What happened to a payment, the newest first. */
export function Timeline({ id }: { id: string }) {
  const timeline = useLoad((signal) => fetchTimeline(id, signal), [id])
  return (
    <Show of={timeline}>
      {({ entries }) =>
        entries.length === 0 ? (
          <p>Nothing has happened yet.</p>
        ) : (
          <ol class="happened">
            {entries.toReversed().map((entry, at) => (
              <li key={at} class={entry.kind}>
                <Time at={entry.at} />
                <div>{wordsOf(entry)}</div>
              </li>
            ))}
          </ol>
        )
      }
    </Show>
  )
}

const CALLS: Readonly<Record<string, string>> = {
  create: 'Asked the provider to create the payment',
  capture: 'Asked the provider to capture it',
  refund: 'Asked the provider to refund',
}

/** Quoted text of strangers, if there is any. */
const Why = ({ children }: { children: string | undefined }) =>
  children ? (
    <p class="soft">
      <Text>{children}</Text>
    </p>
  ) : null

function wordsOf(entry: Entry): ComponentChildren {
  const money =
    entry.amount !== undefined && entry.currency ? moneyText(entry.amount, entry.currency) : entry.amount
  switch (entry.kind) {
    case 'status':
      return (
        <>
          Became <State of={entry.status!} />
          <Why>{entry.cause}</Why>
        </>
      )
    case 'call':
      return (
        <>
          {CALLS[entry.call!]} {money} <State of={entry.state!} />
          <Why>{entry.reason ?? entry.refundReason}</Why>
        </>
      )
    case 'object':
      return (
        <>
          The provider shows the {entry.object} of {money} as <State of={entry.state!} />
          <Why>{entry.reason ?? entry.objectId}</Why>
        </>
      )
    case 'event':
      return (
        <>
          Event{' '}
          <Link to={href(['payment-events', entry.id!])}>
            <Text>{entry.type!}</Text>
          </Link>{' '}
          <State of={entry.state!} />
          <Why>{entry.reason}</Why>
        </>
      )
    case 'receipt':
      return (
        <>
          {entry.units} smallest units arrived in block {entry.block} of {entry.chain}
          <Why>{entry.hash}</Why>
        </>
      )
  }
}
