import type { Clock } from '../../../../../base/clock.ts'
import { errors } from '../../../../../base/errors.ts'
import { StartError } from '../../../../../base/start-error.ts'
import type { Logger } from '../../../../../base/logger.ts'
import type { Database } from '../../../../../db/database.ts'
import type { Definition } from '../entries/index-definition.ts'
import { namesOf } from '../entries/entries.ts'
import { isSame, selectIndexesSql } from '../sql/index-rows.ts'

const FIRST_LOOK_MS = 5
const LOOK_MS = 500
const LOG_MS = 5_000

/** Documents do not fit an index that an option requires. */
export class UnfitIndex extends StartError {
  readonly collection: string
  readonly reason: string

  constructor({ collection, requiredBy }: Definition, reason: string) {
    super(
      `${requiredBy}: ${reason}: start without this option, change or delete what does not fit, then declare it again`,
    )
    this.collection = collection
    this.reason = reason
  }
}

/**
 * Resolves when the indexes that options require are complete. Jobs build them, of this process or of another one. Every five
 * seconds the log tells how far they are.
 *
 * @param options.goOn throws if the server is to close meanwhile
 * @param options.mayFail those whose failure is no error
 * @throws StartError if an index has failed
 */
export async function untilComplete(
  { db, clock, log }: { db: Database; clock: Clock; log: Logger },
  required: readonly Definition[],
  { goOn, mayFail }: { goOn: () => void; mayFail: (one: Definition) => boolean },
): Promise<void> {
  const began = clock.elapsed()
  let logged = began
  for (let [pending, pauseMs] = [required, FIRST_LOOK_MS]; ; pauseMs = Math.min(2 * pauseMs, LOOK_MS)) {
    const rows = await db.all(selectIndexesSql())
    const rowOf = (one: Definition) => rows.find((row) => isSame(one, row))
    for (const one of pending) {
      const row = rowOf(one)
      if (!row)
        throw new StartError(
          `${one.requiredBy}: the index of ${namesOf(one.fields)} was dropped by a server with another configuration: start this one again`,
        )
      if (row.state === 'failed' && !mayFail(one)) throw new UnfitIndex(one, row.reason ?? '')
    }
    pending = pending.filter((one) => rowOf(one)!.state === 'building')
    const [next] = pending
    if (!next) return
    goOn()
    if (clock.elapsed() - logged >= LOG_MS) {
      logged = clock.elapsed()
      const seconds = Math.round((logged - began) / 1000)
      log.info(
        `the index of ${namesOf(next.fields)} in ${next.collection} is being built: it has ${rowOf(next)!.documents} documents (${seconds} s so far)`,
      )
    }
    await clock.sleep(pauseMs)
  }
}

/**
 * Refuses to write without an index that keeps a rule. One that failed, because restored documents do not fit, does not count:
 * they could not be changed otherwise.
 *
 * @throws UNAVAILABLE if a server with another configuration has dropped it
 */
export async function refuseIfDropped(db: Database, one: Definition): Promise<void> {
  const rows = await db.all(selectIndexesSql(one.collection))
  if (!rows.some((row) => isSame(one, row)))
    throw errors.unavailable({
      message: `The index of ${namesOf(one.fields)} in ${one.collection} is not there: a server with another configuration has dropped it.`,
    })
}
