import { ApiError } from '../../../base/errors.ts'
import { TurnQueue } from '../../../db/postgres-turn-queue.ts'
import type { NewDocument } from './document-rows.ts'

// Groups under way, beyond which documents wait for the next: one is written while the other is flushed.
const GROUPS = 2
const LARGEST_GROUP = 100
const GROUP_CHARACTERS = 1_000_000

/** Each is false if a document was not inserted because one of its id is there. */
type Inserts = {
  readonly one: (document: NewDocument) => Promise<boolean>
  /** All of them, which are of one collection, or none. */
  readonly all: (documents: readonly NewDocument[]) => Promise<boolean>
}

type Waiting = {
  readonly document: NewDocument
  readonly resolve: (isInserted: boolean) => void
  readonly reject: (error: unknown) => void
}

/**
 * Inserts documents that arrive together by one write, which costs half as much where they have index entries. One that is
 * refused takes no other with it.
 */
export function createInsertGroups({ one, all }: Inserts): Inserts['one'] {
  const queue: TurnQueue<Waiting> = new TurnQueue(
    () => queue.underWay.size < GROUPS,
    () => insert(take()),
  )

  /** The next documents of one collection, in order of arrival. */
  function take(): Waiting[] {
    const { collection } = queue.waiting[0]!.document
    const ids = new Set<string>()
    let characters = 0
    for (const { document } of queue.waiting) {
      if (document.collection !== collection || ids.has(document.id)) break
      if (ids.size >= LARGEST_GROUP || characters > GROUP_CHARACTERS) break
      ids.add(document.id)
      characters += document.body.length
    }
    return queue.waiting.splice(0, ids.size)
  }

  async function insert(group: readonly Waiting[]): Promise<void> {
    if (group.length === 1) return insertEach(group)
    try {
      const isInserted = await all(group.map(({ document }) => document))
      if (!isInserted) return await insertEach(group)
      for (const { resolve } of group) resolve(true)
    } catch (error) {
      // Nothing was written: it is wrong with one of them, and may be right for the others.
      if (error instanceof ApiError && error.status < 500) return insertEach(group)
      for (const { reject } of group) reject(error)
    }
  }

  async function insertEach(group: readonly Waiting[]): Promise<void> {
    await Promise.all(group.map(({ document, resolve, reject }) => one(document).then(resolve, reject)))
  }

  return (document) =>
    new Promise((resolve, reject) => {
      queue.push({ document, resolve, reject })
    })
}
