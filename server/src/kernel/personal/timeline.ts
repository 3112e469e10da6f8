import { invalid } from '../../base/errors.ts'
import type { DataSubject, PersonEvent, PersonTimeline } from '../wire/personal-data.ts'
import type { TimelinePart } from '../wire/timeline.ts'

const LIMIT_MAX = 100

/** How far each part has been read, by its name. */
type Places = Readonly<Record<string, string>>

/**
 * Reads what happened to a person in all parts together, newest first. Each part is read from its own place by an index, so a page
 * costs the same at any depth.
 *
 * @throws VALIDATION_ERROR at `/query/cursor`
 */
export async function readTimeline(
  parts: readonly TimelinePart[],
  person: DataSubject,
  { cursor, limit: asked }: { cursor: string | undefined; limit: number },
): Promise<PersonTimeline> {
  const places = placesOf(cursor)
  const limit = Math.min(asked, LIMIT_MAX)
  const read = await Promise.all(
    parts.map(async ({ name, read: readPart }) => {
      const entries = await readPart(person, { before: places[name], limit: limit + 1 })
      return { name, entries: [...entries] }
    }),
  )
  const entries: { part: string; entry: PersonEvent }[] = []
  const reached: Record<string, string> = { ...places }
  while (entries.length < limit) {
    const next = latestOf(read)
    const entry = next?.entries.shift()
    if (!next || !entry) break
    entries.push({ part: next.name, entry })
    reached[next.name] = entry.key
  }
  const hasMore = read.some((part) => part.entries.length > 0)
  return {
    entries: entries.map(({ part, entry: { key: _key, ...entry } }) => ({ part, ...entry })),
    ...(hasMore && { nextCursor: Buffer.from(JSON.stringify(reached)).toString('base64url') }),
  }
}

/** The part whose next entry is the newest. */
const latestOf = <P extends { entries: readonly PersonEvent[] }>(parts: readonly P[]): P | undefined =>
  parts
    .filter(({ entries }) => entries.length > 0)
    .reduce<P | undefined>(
      (best, part) => (best && best.entries[0]!.at >= part.entries[0]!.at ? best : part),
      undefined,
    )

function placesOf(cursor: string | undefined): Places {
  if (cursor === undefined) return {}
  const text = Buffer.from(cursor, 'base64url').toString()
  // Nothing else can be a place: each is bound in a query.
  if (/^\{"[\w-]+":"[\w.:-]{1,100}"(?:,"[\w-]+":"[\w.:-]{1,100}")*\}$/.test(text))
    return JSON.parse(text) as Places
  throw invalid({
    path: '/query/cursor',
    message: 'This is not a cursor: send the nextCursor of the previous page.',
  })
}
