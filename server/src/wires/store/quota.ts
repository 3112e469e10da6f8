import { BoundedMap } from '../../base/bounded-map.ts'
import { ApiError } from '../../base/errors.ts'
import { newId } from '../../base/ids.ts'
import { requireRow, type Step } from '../../db/database.ts'
import { sql, type Sql } from '../../db/sql.ts'
import type { Caller } from '../../http/access.ts'
import { storeErrors } from './errors.ts'
import type { WireContext } from '../../kernel/wire/wire.ts'

/** How long a reservation counts after its last bytes if its process ends. */
const RESERVED_MS = 60_000
/** How much is reserved at a time, after the first bytes. */
const RESERVED_BYTES = 1_048_576
/** How long an upload waits for later ones, which leave no room, and how often it looks. */
const WAIT_MAX_MS = 10_000
const WAIT_MS = 100
/** A quota is far if less than this part of it is taken, and if a write takes less than the other part. */
const FAR = 1 / 2
const SMALL = 1 / 100_000
/** How long a sum that was far from the quota counts as far: nobody stores as many as 50,000 documents within it. */
const FAR_MS = 1_000
const OWNERS_MAX = 10_000
/** What of a body may be something else than the file. */
const OTHER_BYTES = 131_072

/** Room for a file that is being received. */
export type Reservation = {
  readonly id: string
  /**
   * Passes the bytes on, each after there is room for it beside those that were passed before.
   *
   * @param contentLength of the body, if it is known: what is certain of it is reserved first
   * @throws QUOTA_EXCEEDED before the byte that does not fit
   */
  pass(bytes: AsyncIterator<Buffer>, contentLength: number | undefined): AsyncGenerator<Buffer>
  /** Never rejects. */
  release(): Promise<void>
}

/** By how many bytes the documents of an owner grow. */
export type Growth = { readonly owner: string; readonly bytes: number }

/** Whose quota a file counts in. */
export type FileOwner = Pick<Caller, 'kind' | 'id'>

export type Quota = {
  /** The steps that must come before the one that inserts the record of a file, in its batch; they end its reservation. */
  claimSql(file: { owner: string; size: number }, caller: FileOwner, reservation: Reservation): Step[]
  reserve(caller: FileOwner): Reservation
  /**
   * Reserves room for a whole file until a time.
   *
   * @param write gets the steps that must be in its batch
   * @throws QUOTA_EXCEEDED
   */
  hold<T>(
    owner: FileOwner,
    room: { id: string; bytes: number; due: number },
    write: (steps: readonly Step[]) => Promise<T>,
  ): Promise<T>
  /** The statement that reserves it until a later time. */
  extendSql(id: string, due: number): Sql
  releaseSql(id: string): Sql
  /**
   * Runs a write by which documents grow.
   *
   * @param write gets the steps that must come before it, in its batch; none while the quota is far
   * @throws QUOTA_EXCEEDED
   */
  run<T>(
    caller: Caller | undefined,
    growth: readonly Growth[],
    write: (steps: readonly Step[]) => Promise<T>,
  ): Promise<T>
}

/** What is asked of a quota: whether so many bytes fit, beside what its owner has; of all owners if that is ''. */
type Demand = {
  readonly owner: string
  readonly quota: number
  readonly bytes: number
  readonly rule: string
}

/**
 * How much files and documents may take together, of one user and in all. What service keys and the server itself store
 * counts in all only, and what is written to documents of others as well.
 */
export function createQuota(
  { db, clock }: Pick<WireContext, 'db' | 'clock'>,
  { user, total }: { user?: number | undefined; total?: number | undefined },
): Quota {
  const demandsOf = (caller: FileOwner | undefined, growth: readonly Growth[]): Demand[] => {
    const demands: Demand[] = []
    if (total !== undefined)
      demands.push({ owner: '', quota: total, bytes: sumOf(growth), rule: 'all files and documents' })
    const own = caller?.kind === 'user' ? growth.filter(({ owner }) => owner === caller.id) : []
    if (user !== undefined && own.length > 0)
      demands.push({ owner: own[0]!.owner, quota: user, bytes: sumOf(own), rule: 'your files and documents' })
    return demands
  }

  const usedOf = async (owner: string, id: string): Promise<number> =>
    (await db.get(usedSql(owner, sql`id <> ${id}`, clock.now())))!.used

  /** @param id of the own reservation */
  function stepsFor(demands: readonly Demand[], id: string): Step[] {
    if (demands.length === 0) return []
    // With both, the lock of the total is enough.
    return [lockSql(demands[0]!.owner), ...demands.map((demand) => fitsStep(demand, id, clock.now()))]
  }

  /** Says in the error how much is left. */
  async function explained<T>(demands: readonly Demand[], id: string, work: () => Promise<T>): Promise<T> {
    try {
      return await work()
    } catch (error) {
      if (!isExceeded(error)) throw error
      for (const demand of demands) {
        const room = demand.quota - (await usedOf(demand.owner, id))
        if (room < demand.bytes) throw exceeded(demand, Math.max(0, room))
      }
      throw error
    }
  }

  const usageByOwner = new BoundedMap<string, { readonly at: number; readonly used: number }>(OWNERS_MAX)

  /** What was read last, less than `FAR_MS` ago. */
  function usedLately(owner: string): number | undefined {
    const last = usageByOwner.get(owner)
    return last && clock.elapsed() - last.at < FAR_MS ? last.used : undefined
  }

  async function isFar(demand: Demand): Promise<boolean> {
    const { owner } = demand
    let used = usedLately(owner)
    if (used === undefined && isSmall(demand)) {
      const at = clock.elapsed()
      used = await usedOf(owner, '')
      usageByOwner.set(owner, { at, used })
    }
    return leavesFar(demand, used)
  }

  /** Runs a write of which some quota may not be far. */
  async function runNear<T>(
    demands: readonly Demand[],
    write: (steps: readonly Step[]) => Promise<T>,
  ): Promise<T> {
    const near: Demand[] = []
    for (const demand of demands) if (!(await isFar(demand))) near.push(demand)
    return near.length === 0 ? write([]) : explained(demands, '', () => write(stepsFor(demands, '')))
  }

  function reserve(caller: FileOwner): Reservation {
    const id = newId()
    const owner = caller.id
    const isLimited = demandsOf(caller, [{ owner, bytes: 0 }]).length > 0
    let reserved = 0
    let due = 0
    let passed = 0

    async function take(bytes: number): Promise<void> {
      const now = clock.now()
      const row = { id, owner, bytes, due: now + RESERVED_MS }
      const demands = demandsOf(caller, [row])
      await explained(demands, id, () =>
        db.batch([
          ...stepsFor(demands, id),
          sql`delete from store_reservations where due <= ${now}`,
          reserveSql(row),
        ]),
      )
      reserved = bytes
      due = row.due
    }

    /** Of uploads that leave no room for each other the first one waits until the later ones have failed. */
    async function reserveInOrder(bytes: number): Promise<void> {
      for (const end = clock.elapsed() + WAIT_MAX_MS; ; await clock.sleep(WAIT_MS)) {
        try {
          return await take(bytes)
        } catch (error) {
          if (!isExceeded(error) || clock.elapsed() >= end || !(await fitsWithoutLater(bytes))) throw error
        }
      }
    }

    async function fitsWithoutLater(bytes: number): Promise<boolean> {
      for (const demand of demandsOf(caller, [{ owner, bytes }])) {
        const { used } = (await db.get(usedSql(demand.owner, sql`id < ${id}`, clock.now())))!
        if (used + bytes > demand.quota) return false
      }
      return true
    }

    /** Takes what is there now, and some more if that fits too. */
    async function takeMore(bytes: number, contentLength: number): Promise<void> {
      const ahead = Math.max(bytes, Math.min(bytes + RESERVED_BYTES, contentLength))
      // The first bytes may be all.
      if (reserved === 0 || ahead === bytes) return reserveInOrder(bytes)
      await take(ahead).catch((error: unknown) => {
        if (!isExceeded(error)) throw error
        return reserveInOrder(bytes)
      })
    }

    return {
      id,
      async *pass(bytes, contentLength) {
        const isFirst = passed === 0 && reserved === 0
        if (isLimited && isFirst && contentLength !== undefined && contentLength > OTHER_BYTES)
          await reserveInOrder(contentLength - OTHER_BYTES)
        for (let next = await bytes.next(); !next.done; next = await bytes.next()) {
          passed += next.value.length
          if (isLimited && passed > reserved) await takeMore(passed, contentLength ?? Infinity)
          else if (isLimited && due - clock.now() < RESERVED_MS / 2) await take(reserved)
          yield next.value
        }
      },
      async release() {
        if (reserved === 0) return
        // If this fails, it ends by itself.
        await db.write(releaseSql(id)).catch(() => undefined)
      },
    }
  }

  return {
    reserve,
    claimSql({ owner, size }, caller, { id }) {
      const demands = demandsOf(caller, [{ owner, bytes: size }])
      return demands.length === 0 ? [] : [...stepsFor(demands, id), releaseSql(id)]
    },
    async hold(owner, { id, bytes, due }, write) {
      const row = { id, owner: owner.id, bytes, due }
      const demands = demandsOf(owner, [row])
      if (demands.length === 0) return write([])
      return explained(demands, id, () => write([...stepsFor(demands, id), reserveSql(row)]))
    },
    extendSql: (id, due) => sql`update store_reservations set due = ${due} where id = ${id}`,
    releaseSql,
    run(caller, growth, write) {
      const demands = demandsOf(caller, growth).filter(({ bytes }) => bytes > 0)
      const areFar = demands.every((demand) => leavesFar(demand, usedLately(demand.owner)))
      return areFar ? write([]) : runNear(demands, write)
    },
  }
}

/** Room that `hold` has reserved. Only the record of its file, or its end, gives it back. */
export const heldRoom = (id: string): Reservation => ({
  id,
  async *pass(bytes) {
    for (let next = await bytes.next(); !next.done; next = await bytes.next()) yield next.value
  },
  release: async () => undefined,
})

export const isExceeded = (error: unknown): error is ApiError =>
  error instanceof ApiError && error.code === storeErrors.quota_exceeded.code

const exceeded = ({ bytes, quota, rule }: Demand, left?: number): ApiError =>
  storeErrors.quota_exceeded({
    message: `No room for ${bytes} bytes: ${rule} may take ${quota} bytes together${left === undefined ? '' : `, and ${left} are left`}. Delete some first.`,
    ...(left !== undefined && { details: { quota, left } }),
  })

const isSmall = ({ quota, bytes }: Demand): boolean => bytes <= quota * SMALL

/** Whether a quota is far, and stays so. @param used undefined: not known */
const leavesFar = (demand: Demand, used = Infinity): boolean => isSmall(demand) && used < demand.quota * FAR

const sumOf = (growth: readonly Growth[]): number => growth.reduce((bytes, one) => bytes + one.bytes, 0)

// SQLite has one writer.
const lockSql = (owner: string): Sql =>
  sql`${sql.either({
    sqlite: sql`select 1`,
    postgres: sql`select pg_advisory_xact_lock(hashtextextended(${`sixwire store quota ${owner}`}, 0))`,
  })}`

const reserveSql = (row: { id: string; owner: string; bytes: number; due: number }): Sql => sql`
  insert into store_reservations (id, owner, bytes, due)
  values (${row.id}, ${row.owner}, ${row.bytes}, ${row.due})
  on conflict (id) do update set bytes = excluded.bytes, due = excluded.due`

const releaseSql = (id: string): Sql => sql`delete from store_reservations where id = ${id}`

/** What is stored, and what is reserved by some of the uploads. @param owner '' for all owners */
const usedSql = (owner: string, reservations: Sql, now: number): Sql<{ used: number }> => sql`
  select cast(
    (select coalesce(sum(bytes), 0) from store_usage where owner = ${owner})
    + (select coalesce(sum(bytes), 0) from store_counts where owner = ${owner})
    + (select coalesce(sum(bytes), 0) from store_reservations
      where ${owner === '' ? sql.literal('') : sql`owner = ${owner} and`} ${reservations} and due > ${now})
    as bigint) as used`

/** What is stored and what others have reserved must leave room. */
const fitsStep = (demand: Demand, id: string, now: number): Step =>
  requireRow(
    sql`
      select used from (${usedSql(demand.owner, sql`id <> ${id}`, now)}) as so_far
      where used <= ${demand.quota - demand.bytes}`,
    () => exceeded(demand),
  )
