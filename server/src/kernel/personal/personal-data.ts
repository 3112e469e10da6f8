import type { Clock } from '../../base/clock.ts'
import { identifier } from '../../db/catalogue.ts'
import type { Database } from '../../db/database.ts'
import { sql } from '../../db/sql.ts'
import type { Audit } from '../audit/audit.ts'
import type { Settings } from '../config/config.ts'
import type { Jobs } from '../jobs/job.ts'
import type {
  DeclaredTable,
  DeletedRecords,
  KeptRecords,
  DataSubject,
  PersonalData,
  PersonalTables,
} from '../wire/personal-data.ts'
import type { Running } from '../wire/wire.ts'
import { createErasure } from './erasure.ts'
import { createExports } from './exports.ts'
import { frameTables } from './frame-tables.ts'
import { frameTimeline } from './frame-timeline.ts'
import { readTimeline } from './timeline.ts'

/** Counting is no reason to wait for long. */
const COUNT_MS = 30_000

/**
 * What all wires hold of persons: exported together, and erased together.
 *
 * @param nouns.running the wires, once they are set up
 */
export function createPersonalData(
  context: { db: Database; clock: Clock; jobs: Jobs; audit: Audit },
  { running }: { running: readonly Running[] },
  { secret, publicUrl, name }: Pick<Settings, 'secret' | 'publicUrl' | 'name'>,
): PersonalData & { declared(): PersonalTables } {
  const { db } = context
  const declared = (): PersonalTables =>
    Object.assign({}, ...running.toReversed().map((one) => one.personalTables), ofFrame) as PersonalTables
  const tables = (): DeclaredTable[] =>
    Object.entries(declared()).flatMap(([name, table]) => ('isNobodys' in table ? [] : { name, table }))
  const personOf = async (account: string): Promise<DataSubject | undefined> =>
    running.find((one) => one.personOf)?.personOf?.(account)
  const exports = createExports(
    context,
    {
      tables,
      storage: () => running.find(({ archives }) => archives)?.archives,
      personOf,
    },
    { secret, publicUrl, name },
  )
  const ofFrame = frameTables(db, exports)
  const ofFrameTimeline = frameTimeline(db)
  const erasure = createErasure(context, { tables, personOf })

  return {
    declared,
    eraseSql: (person) => erasure.eraseSql(person),
    export: (account, actor) => exports.export(account, actor),
    timeline: (person, page) =>
      readTimeline([ofFrameTimeline, ...running.flatMap((one) => one.timeline ?? [])], person, page),
    openExport: (id, token) => exports.openExport(id, token),

    async deletion(person) {
      const erased: DeletedRecords[] = []
      const kept: KeptRecords[] = []
      for (const { name, table } of tables()) {
        const { about, deletion, rows } = table
        if (about === undefined) continue
        const [counted] = await db.scan<{ count: number }>(
          sql`select count(*) as count from ${sql.literal(identifier(name))} where ${rows(person)}`,
          { caller: person.id, limitMs: COUNT_MS },
        )
        const { count } = counted!
        if (count === 0) continue
        if (typeof deletion === 'object') kept.push({ table: name, about, count, reason: deletion.keeps })
        else erased.push({ table: name, about, count })
      }
      return { erased, kept }
    },
  }
}
