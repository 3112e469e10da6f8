import { queryValue, sortInPlace } from '../../parts/router.tsx'
import { six } from '../../parts/session.ts'

/** Loads a page of the entries that the filters of the address find. */
export const loadEntries = async ({
  cursor,
  signal,
}: {
  cursor: string | undefined
  signal: AbortSignal
}) => {
  const { entries, nextCursor } = await six.call('GET /auth/audit', {
    query: {
      action: queryValue('action'),
      actor: queryValue('actor'),
      target: queryValue('target'),
      since: timeOf(queryValue('since')),
      until: timeOf(queryValue('until')),
      sort: sortInPlace('createdAt'),
      total: 'none',
      limit: 100,
      cursor,
    },
    signal,
  })
  return { rows: entries, nextCursor }
}

export type ShownAuditEntry = Awaited<ReturnType<typeof loadEntries>>['rows'][number]

/** When a day of the reader begins, as the server takes it. */
const timeOf = (text: string | undefined): string | undefined => {
  const time = new Date(`${text}T00:00`)
  return Number.isNaN(time.getTime()) ? undefined : time.toISOString()
}
