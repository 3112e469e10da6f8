import { Icon } from '../../icons.tsx'
import { Problem } from '../../parts/load.tsx'
import { Owner } from '../../parts/owner.tsx'
import { Link } from '../../parts/router.tsx'
import { useRows } from '../../parts/rows.ts'
import { six } from '../../parts/session.ts'
import { Badge, Text, Time } from '../../parts/text.tsx'

type Entry = Awaited<ReturnType<typeof fetchTimeline>>['entries'][number]

const LIMIT = 30

const fetchTimeline = (id: string, cursor: string | undefined, signal: AbortSignal) =>
  six.call('GET /auth/users/:id/timeline', {
    params: { id },
    query: { limit: LIMIT, ...(cursor !== undefined && { cursor }) },
    signal,
  })

/** The drawing of each part: that of the area of the menu with its records. */
const ICONS: Readonly<Record<string, Parameters<typeof Icon>[0]['of']>> = {
  account: 'people',
  'sign-ins': 'people',
  notes: 'people',
  payments: 'payments',
  refunds: 'payments',
  messages: 'messages',
  documents: 'data',
  files: 'data',
  wallets: 'chains',
  transactions: 'chains',
}

/** What happened to a user in all wires, the newest first. */
export function UserTimeline({ id }: { id: string }) {
  const { rows, error, isFirst, isLoading, hasMore, more, again } = useRows<Entry & { place: number }>(
    async ({ cursor, signal }) => {
      const { entries, nextCursor } = await fetchTimeline(id, cursor, signal)
      return { rows: entries.map((entry, place) => ({ ...entry, place })), nextCursor }
    },
    // Nothing tells two entries of a moment apart, but that they are two.
    ({ part, at, text, place }) => `${part} ${at} ${text} ${place}`,
    [id],
    false,
  )
  if (error !== undefined) return <Problem error={error} again={again} />
  if (isFirst) return <p class="soft">Loading…</p>
  return (
    <>
      <ol class="happened">
        {rows.map((entry, at) => (
          <li key={at}>
            <Time at={entry.at} />
            <div>
              <Icon of={ICONS[entry.part] ?? 'operation'} />{' '}
              {entry.opens === undefined ? (
                <Text>{entry.text}</Text>
              ) : (
                <Link to={`#/${entry.opens}`}>
                  <Text>{entry.text}</Text>
                </Link>
              )}{' '}
              {entry.state !== undefined && <Badge>{entry.state.replaceAll('_', ' ')}</Badge>}
              {entry.detail !== undefined && (
                <p class="soft note">
                  <Text>{entry.detail}</Text>
                </p>
              )}
              {entry.by !== undefined && (
                <p class="soft">
                  by <Owner of={entry.by} />
                </p>
              )}
            </div>
          </li>
        ))}
      </ol>
      {hasMore && (
        <button type="button" class="small" aria-disabled={isLoading} onClick={more}>
          Load more
        </button>
      )}
    </>
  )
}
