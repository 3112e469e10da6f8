import { parseJson } from '../../../base/json.ts'
import type { Json } from '../documents/query/filter.ts'
import type { OwnedDocument } from '../documents/sql/document-rows.ts'
import type { LogRow } from './log-rows.ts'
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

/** The changes that rows of the log eventFor, one for each document, in the order of their first changes. */
export function changesOf(rows: readonly LogRow[]): LoggedChange[] {
  const changes = new Map<string, Writable>()
  for (const row of rows) {
    const key = `${row.collection} ${row.id}`
    let change = changes.get(key)
    if (!change) changes.set(key, (change = changeOf(row)))
    change.until = { xid: row.xid, seq: row.seq! }
    // Of rows that were read at several moments the last has the latest.
    change.now = nowOf(row)
    change.seenAt = { xid: row.end_xid, seq: row.end_seq }
    if (row.old !== null) change.before.push(stateOf(row.owner, row.old))
  }
  return [...changes.values()]
}

type Writable = { -readonly [Name in keyof LoggedChange]: LoggedChange[Name] } & { before: State[] }

function changeOf({ generation, collection, id, xid, seq, at }: LogRow): Writable {
  const position = { xid, seq: seq! }
  return {
    collection,
    id,
    generation,
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
