import { BoundedMap } from '../../../base/bounded-map.ts'
import { ApiError } from '../../../base/errors.ts'
import { TurnQueue } from '../../../db/turn-queue.ts'
import type { NewDocument } from './sql/document-rows.ts'

// Groups of a collection under way, beyond which documents wait for the next: one is written while the other is flushed.
const GROUPS = 2
const LARGEST_GROUP = 100
const GROUP_CHARACTERS = 1_000_000
const QUEUES_MAX = 1_000

/** Each is false if a document was not inserted because one of its id is there. */
type Inserts = {
  readonly one: (document: NewDocument) => Promise<boolean>
  /** All of them or none. */
  readonly all: (
    collection: string,
    documents: readonly Omit<NewDocument, 'collection'>[],
  ) => Promise<boolean>
}

type Waiting = {
  readonly document: NewDocument
  readonly resolve: (isInserted: boolean) => void
  readonly reject: (error: unknown) => void
}

/**
 * Inserts documents that arrive together by one write, which costs PostgreSQL half as much where they have index entries. One
 * that is refused takes no other with it.
 */
export function createInsertGroups({ one, all }: Inserts): Inserts['one'] {
  // One that makes room for another goes on until it is empty.
  const queues = new BoundedMap<string, TurnQueue<Waiting>>(QUEUES_MAX)

  function queueOf(collection: string): TurnQueue<Waiting> {
    const known = queues.get(collection)
    if (known) return known
    const queue: TurnQueue<Waiting> = new TurnQueue(
      () => queue.underWay.size < GROUPS,
      () => insert(collection, takeFrom(queue.waiting)),
    )
    queues.set(collection, queue)
    return queue
  }

  /** The next documents, in order of arrival. */
  function takeFrom(waiting: Waiting[]): Waiting[] {
    const ids = new Set<string>()
    let characters = 0
    for (const { document } of waiting) {
      if (ids.has(document.id) || ids.size >= LARGEST_GROUP || characters > GROUP_CHARACTERS) break
      ids.add(document.id)
      characters += document.body.length
    }
    return waiting.splice(0, ids.size)
  }

  async function insert(collection: string, group: readonly Waiting[]): Promise<void> {
    if (group.length === 1) return insertEach(group)
    try {
      const isInserted = await all(
        collection,
        group.map(({ document: { id, owner, body } }) => ({ id, owner, body })),
      )
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
      queueOf(document.collection).push({ document, resolve, reject })
    })
}
