import type { Clock } from '../../../base/clock.ts'
import { errors } from '../../../base/errors.ts'
import { newId } from '../../../base/ids.ts'
import type { Database } from '../../../db/database.ts'
import { sql } from '../../../db/sql.ts'
import type { StorageName } from './storage.ts'
import type { WireContext } from '../../../kernel/wire/wire.ts'

/** How long after the last bytes arrived the garbage collector leaves an object alone that is being written. */
export const WRITING_MS = 3_600_000

const LARGEST_BLOCK = 64
const LARGEST_INSERT = 256
/** Blocks grow while each is used up within this time. */
const BUSY_MS = 1_000
/** Keys that nobody has asked for in this time are given back. */
const IDLE_MS = 60_000

/** A key with a row for writing, and the time from which on the garbage collector deletes its object. */
export type AllocatedKey = { key: string; due: number }

type Waiting = PromiseWithResolvers<AllocatedKey>

/** The keys of new objects, each with a row in `store_unclaimed` before it is used. */
export type Keys = {
  next(storage: StorageName): Promise<AllocatedKey>
  /** Allocates a certain key. @throws CONFLICT if it is in use */
  take(storage: StorageName, key: string): Promise<AllocatedKey>
  /** Gives back what is not used. */
  close(): Promise<void>
}

/**
 * Allocates keys in blocks while many objects are written: one commit for many. All keys of a block end alike, so objects
 * that are written at the same time are in one folder and share its flushes.
 */
export function createKeys({ db, clock }: Pick<WireContext, 'db' | 'clock'>): Keys {
  const stocks = new Map<StorageName, Stock>()
  const stockOf = (storage: StorageName): Stock => {
    let stock = stocks.get(storage)
    if (!stock) stocks.set(storage, (stock = new Stock(storage, db, clock)))
    return stock
  }
  return {
    next: (storage) => stockOf(storage).next(),
    async take(storage, key) {
      const due = clock.now() + WRITING_MS
      const row = { storage, key, state: 'writing', due }
      const [inserted] = await db.write(sql.insert('store_unclaimed', row, ['storage', 'key']))
      if (!inserted) throw errors.conflict({ message: `The object ${key} is being written or deleted.` })
      return { key, due }
    },
    async close() {
      for (const stock of stocks.values()) await stock.close()
    },
  }
}

class Stock {
  readonly #storage: StorageName
  readonly #db: Database
  readonly #clock: Clock
  #unused: AllocatedKey[] = []
  #waiting: Waiting[] = []
  #allocation: Promise<void> | undefined
  #allocatedAt = -Infinity
  #block = 1
  #stopTimer = (): void => undefined

  constructor(storage: StorageName, db: Database, clock: Clock) {
    this.#storage = storage
    this.#db = db
    this.#clock = clock
  }

  next(): Promise<AllocatedKey> {
    const waiting: Waiting = Promise.withResolvers()
    this.#waiting.push(waiting)
    this.#serve()
    const isLow = this.#block > 1 && this.#unused.length < this.#block / 2
    if (this.#waiting.length > 0 || isLow) this.#allocation ??= this.#allocate()
    return waiting.promise
  }

  #serve(): void {
    while (this.#waiting.length > 0) {
      const key = this.#unused.shift()
      if (!key) return
      // An old one belongs to the garbage collector soon.
      if (key.due - this.#clock.now() > WRITING_MS / 2) this.#waiting.shift()!.resolve(key)
    }
  }

  /** Inserts the next block. Never rejects: an error goes to the callers that wait for a key. */
  async #allocate(): Promise<void> {
    const [now, at] = [this.#clock.now(), this.#clock.elapsed()]
    const isBusy = this.#waiting.length > 1 || (this.#block > 1 && at - this.#allocatedAt < BUSY_MS)
    this.#block = isBusy ? Math.min(LARGEST_BLOCK, this.#block * 2) : 1
    this.#allocatedAt = at
    const due = now + WRITING_MS
    const ending = newId(now).slice(-2)
    const count = Math.max(this.#block, Math.min(this.#waiting.length, LARGEST_INSERT))
    const keys = Array.from({ length: count }, () => newId(now).slice(0, -2) + ending)
    const rows = keys.map((key) => sql`(${this.#storage}, ${key}, 'writing', ${due})`)
    try {
      await this.#db.write(
        sql`insert into store_unclaimed (storage, key, state, due) values ${sql.join(rows)}`,
      )
      this.#unused.push(...keys.map((key) => ({ key, due })))
      this.#stopTimer()
      this.#stopTimer = this.#clock.timer(IDLE_MS, () => void this.#giveBack())
    } catch (error) {
      for (const { reject } of this.#waiting.splice(0)) reject(error)
    }
    this.#allocation = undefined
    this.#serve()
    if (this.#waiting.length > 0) this.#allocation = this.#allocate()
  }

  /** Deletes the rows of unused keys: nothing was written. Never rejects: the garbage collector deletes what stays. */
  async #giveBack(): Promise<void> {
    const keys = this.#unused.splice(0).map(({ key }) => key)
    if (keys.length === 0) return
    await this.#db
      .write(
        sql`
          delete from store_unclaimed
          where storage = ${this.#storage} and state = 'writing' and key in (${sql.join(keys)})`,
      )
      .catch(() => undefined)
  }

  async close(): Promise<void> {
    this.#stopTimer()
    await this.#allocation
    await this.#giveBack()
  }
}
