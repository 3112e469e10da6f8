import { parseJson } from '../../../base/json.ts'
import type { Json } from '../documents/language/query/filter.ts'
import type { OwnedDocument } from '../documents/storage/sql/document-rows.ts'
import { endOf, positionOf, type LogRow } from './log-rows.ts'
import type { LogPosition } from './position.ts'

/** A document in one state. */
export type State = { readonly owner: string; readonly json: () => Json }

/**
 * A document that has changed, once or several times: how it was before each change, and how it is now. What it was in between
 * matters too, because a client may have read it then.
 */
export type LoggedChange = {
  readonly collection: string
  readonly id: string
  /** Behind which it comes: of the row before it. */
  readonly after: LogPosition
  /** Of its first change. A follower that has received the event has received everything up to this position. */
  readonly position: LogPosition
  /** Of the last. */
  readonly until: LogPosition
  /** In which log, and where that ended when the document was read as it is now. */
  readonly generation: string
  readonly seenAt: LogPosition
  readonly at: number
  readonly before: readonly State[]
  readonly now: (State & OwnedDocument) | undefined
}

/** The changes of rows behind a position, one for each document, in the order of their first changes. */
export function changesOf(rows: readonly LogRow[], after: LogPosition): LoggedChange[] {
  const changes = new Map<string, Writable>()
  let previous = after
  for (const row of rows) {
    const key = `${row.collection} ${row.id}`
    let change = changes.get(key)
    if (!change) changes.set(key, (change = changeOf(row, previous)))
    change.until = previous = positionOf(row)
    // Of rows that were read at several moments the last has the latest.
    change.now = nowOf(row)
    change.seenAt = endOf(row)
    if (row.old !== null) change.before.push(stateOf(row.owner, row.old))
  }
  return [...changes.values()]
}

type Writable = { -readonly [Name in keyof LoggedChange]: LoggedChange[Name] } & { before: State[] }

function changeOf(row: LogRow, after: LogPosition): Writable {
  const { generation, collection, id, at } = row
  const position = positionOf(row)
  return {
    collection,
    id,
    generation,
    after,
    position,
    until: position,
    seenAt: position,
    at,
    before: [],
    now: undefined,
  }
}

const nowOf = ({ now_version: version, now_owner: owner, body }: LogRow): LoggedChange['now'] =>
  version === null || body === null ? undefined : { ...stateOf(owner, body), body, version }

/** It is parsed when it is first asked for its fields: most changes concern nobody. */
function stateOf(owner: string, text: string): State {
  let json: Json | undefined
  return { owner, json: () => (json ??= parseJson(text) as Json) }
}
