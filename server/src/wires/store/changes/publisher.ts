import { setTimeout as delay } from 'node:timers/promises'

import { sha256 } from '../../../base/crypto.ts'
import { parseJson } from '../../../base/json.ts'
import type { Logger } from '../../../base/logger.ts'
import type { Database, Transaction } from '../../../db/database.ts'
import { sql } from '../../../db/sql.ts'
import type { Events } from '../../../kernel/events/events.ts'
import { CHANGES } from '../documents/storage/changes-channel.ts'
import { PAGE, pageOf, readLogEnd, type ChangePage } from './log.ts'
import { selectChangesSql, type LogRow } from './log-rows.ts'
import { isBefore } from './position.ts'

/** The types of what is published of documents. */
export const DOCUMENT_EVENTS = ['store.*.created', 'store.*.updated', 'store.*.deleted']

const READER = 'webhooks'
const ROWS_A_TURN = 200
const FAULT_MS = 1000

type ReaderRow = { generation: string; xid: number; seq: number }

type PublisherContext = { readonly db: Database; readonly events: Events; readonly log: Logger }

/**
 * Publishes changes of documents to webhooks, from the log: what is written by SQL too. One process at a time reads what is
 * new, and publishes it together with its position: nothing is left out, and nothing comes twice.
 */
export class ChangePublisher {
  readonly #context: PublisherContext
  #running: Promise<void> | undefined
  #isWoken = false
  #stop: (() => void) | undefined

  constructor(context: PublisherContext) {
    this.#context = context
  }

  /** Begins with what changes from now on, or where it was; not at all if no webhook takes changes of documents. */
  async start(): Promise<void> {
    const { db, events } = this.#context
    if (!DOCUMENT_EVENTS.some((type) => events.takes(type))) {
      // A webhook that is added later does not get what happened before.
      await db.write(sql`delete from store_change_readers where name = ${READER}`)
      return
    }
    await beginReader(db)
    this.#stop = db.listen(CHANGES, () => this.#wake())
    this.#wake()
  }

  async close(): Promise<void> {
    this.#stop?.()
    this.#stop = undefined
    await this.#running
  }

  #wake(): void {
    this.#isWoken = true
    if (!this.#stop) return
    this.#running ??= this.#publishAll().finally(() => {
      this.#running = undefined
      if (this.#isWoken) this.#wake()
    })
  }

  async #publishAll(): Promise<void> {
    this.#isWoken = false
    try {
      // A process whose configuration has no such webhook has deleted it, as the old ones may during an upgrade.
      if (await isWithoutReader(this.#context.db)) await beginReader(this.#context.db)
      while (this.#stop && (await publishSome(this.#context)));
    } catch (error) {
      this.#context.log.warn({ err: error }, 'changes of documents could not be published: it is tried again')
      this.#isWoken = true
      await delay(FAULT_MS)
    }
  }
}

/** Begins at the end of the log, unless there is a reader. */
async function beginReader(db: Database): Promise<void> {
  const { generation, position } = await readLogEnd(db)
  await db.write(sql`
    insert into store_change_readers (name, generation, xid, seq)
    values (${READER}, ${generation}, ${position.xid}, ${position.seq})
    on conflict (name) do nothing`)
}

const isWithoutReader = async (db: Database): Promise<boolean> =>
  !(await db.get(sql`select name from store_change_readers where name = ${READER}`))

/** @returns whether there may be more */
const publishSome = ({ db, events, log }: PublisherContext): Promise<boolean> =>
  db.transaction(
    async (tx) => {
      const reader = await lockReader(tx)
      if (!reader) return false
      const after = { xid: reader.xid, seq: reader.seq, at: 0 }
      const page = pageOf(
        await tx.all(selectChangesSql(tx.dialect, after, undefined, { ...PAGE, limit: ROWS_A_TURN })),
        ROWS_A_TURN,
      )
      const isSame = page.generation === reader.generation
      if (isSame && isBefore(after, page.floor))
        log.error('changes of documents were deleted before they were published: webhooks do not have them')
      if (isSame) for (const row of page.rows) await publish(tx, events, page, row)
      await moveReader(tx, page)
      return page.isFull
    },
    { isolation: 'read committed' },
  )

/** @returns nothing while another process publishes */
async function lockReader(tx: Transaction): Promise<ReaderRow | undefined> {
  const [reader] = await tx.write<ReaderRow>(sql`
    select generation, xid, seq from store_change_readers where name = ${READER}
    ${sql.either({ sqlite: sql``, postgres: sql`for update skip locked` })}`)
  return reader
}

/** After a restore the new log is read from its end on. */
const moveReader = (tx: Transaction, { generation, next }: ChangePage) =>
  tx.write(sql`
    update store_change_readers set generation = ${generation}, xid = ${next.xid}, seq = ${next.seq}
    where name = ${READER}`)

async function publish(tx: Transaction, events: Events, page: ChangePage, row: LogRow): Promise<void> {
  const { collection, id, owner, xid, seq } = row
  const steps = events.publishSql({
    type: `store.${collection}.${verbOf(row)}`,
    record: `store/${collection}/${id}`,
    data: { collection, _id: id, document: documentOf(row) },
    once: sha256(`${page.generation} ${xid} ${seq}`),
    owner,
  })
  for (const step of steps) await tx.write(step)
}

const verbOf = ({ version, old }: LogRow): string =>
  version === 0 ? 'deleted' : old === null ? 'created' : 'updated'

/** The document as it is now, which may be later than the change; a deleted one as it was. */
const documentOf = ({ version, body, old }: LogRow): unknown =>
  version > 0 && body !== null ? parseJson(body) : old === null ? null : parseJson(old)
