import { isoTime, type Clock } from '../../base/clock.ts'
import { errors } from '../../base/errors.ts'
import { newId } from '../../base/ids.ts'
import { Type } from '../../base/schema.ts'
import type { Database } from '../../db/database.ts'
import { sql } from '../../db/sql.ts'
import type { Actor } from '../../http/actor.ts'
import type { Audit } from '../audit/audit.ts'
import type { Jobs } from '../jobs/job.ts'
import { createSignedLinks } from '../secret/signed-links.ts'
import type {
  DeclaredTable,
  ArchiveStorage,
  DataSubject,
  PersonalData,
  PersonalExport,
} from '../wire/personal-data.ts'
import { archiveOf } from './archive.ts'

/** How long an archive is there. */
const KEPT_MS = 24 * 3_600_000
/** How long a link opens it. */
const LINK_SECONDS = 900
const HOUR_MS = 3_600_000
const ATTEMPTS = 5

type ExportRow = {
  id: string
  account: string
  state: 'running' | 'ready' | 'failed'
  size: number | null
  created_at: number
  deleted_at: number
}

export type Exports = Pick<PersonalData, 'export' | 'openExport'> & {
  /** Deletes the archive of an account, if there is one. */
  remove(account: string): Promise<void>
}

const gone = () => errors.not_found({ message: 'This export is deleted: request a new one.' })

const keyOf = (id: string): string => `export-${id}`

/**
 * Exports the data of accounts: one of each account at a time, by a job. The archive is written under a key that its row names
 * before, and is deleted a day later.
 */
export function createExports(
  { db, clock, jobs, audit }: { db: Database; clock: Clock; jobs: Jobs; audit: Audit },
  {
    tables,
    storage,
    personOf,
  }: {
    tables: () => readonly DeclaredTable[]
    storage: () => ArchiveStorage | undefined
    personOf: (account: string) => Promise<DataSubject | undefined>
  },
  { secret, publicUrl, name }: { secret: string; publicUrl: string; name: string },
): Exports {
  const links = createSignedLinks({ clock }, { secret, purpose: 'personal-export', of: 'this export' })
  const find = (account: string) =>
    db.get(sql<ExportRow>`select * from sixwire_exports where account = ${account}`)

  function requireStorage(): ArchiveStorage {
    const found = storage()
    if (found) return found
    throw errors.unavailable({ message: 'Nothing stores archives here: load the wire store.' })
  }

  async function removeRow({ id }: Pick<ExportRow, 'id'>): Promise<void> {
    await storage()?.remove(keyOf(id))
    await db.write(sql`delete from sixwire_exports where id = ${id}`)
  }

  const job = jobs.define(
    'sixwire.export-person',
    {
      payload: Type.Object({ account: Type.String(), id: Type.String() }),
      retry: { firstMs: 1_000, maxMs: 60_000, attempts: ATTEMPTS },
      atOnce: 1,
      neededFor: 'a person waits for the export',
    },
    async ({ payload: { account, id }, stopping, isLastAttempt, deleteSql }) => {
      const person = await personOf(account)
      // The account was deleted meanwhile, or a server was killed between the archive and its row.
      if (!person || (await find(account))?.id !== id) return removeRow({ id })
      try {
        const content = { tables: tables(), person, title: name, at: isoTime(clock.now()) }
        const { size } = await requireStorage().write(keyOf(id), archiveOf(db, content), { signal: stopping })
        const now = clock.now()
        const [, ready] = await db.batch([
          deleteSql,
          sql`
            update sixwire_exports set state = 'ready', size = ${size}, deleted_at = ${now + KEPT_MS}
            where id = ${id} returning id`,
        ])
        // The account was deleted meanwhile.
        if (ready.length === 0) await requireStorage().remove(keyOf(id))
      } catch (error) {
        if (isLastAttempt) await db.write(sql`update sixwire_exports set state = 'failed' where id = ${id}`)
        throw error
      }
    },
  )

  jobs.every('sixwire.clean-exports', HOUR_MS, async () => {
    const over = await db.all(
      sql<ExportRow>`select * from sixwire_exports where deleted_at <= ${clock.now()} order by deleted_at limit 1000`,
    )
    for (const row of over) await removeRow(row)
  })

  async function begin(account: string, actor: Actor): Promise<void> {
    const now = clock.now()
    const id = newId(now)
    await db.batch([
      sql`
        insert into sixwire_exports (account, id, state, size, created_at, deleted_at)
        values (${account}, ${id}, 'running', null, ${now}, ${now + KEPT_MS})
        on conflict (account) do nothing`,
      audit.entrySql(actor, {
        action: 'user.export-started',
        target: `user:${account}`,
        onlyIf: sql`exists (select 1 from sixwire_exports where id = ${id})`,
      }),
      // Of a call that came at the same time it is that one's.
      job.enqueueEachSql(sql`
        select 'export-' || e.id as id, ${sql.either({
          sqlite: sql`json_object('account', e.account, 'id', e.id)`,
          postgres: sql`cast(json_build_object('account', e.account, 'id', e.id) as text)`,
        })} as payload, cast(null as text) as lane
        from sixwire_exports as e where e.id = ${id}`),
    ])
  }

  return {
    async export(account, actor): Promise<PersonalExport> {
      requireStorage()
      const stored = await find(account)
      const isOver = stored && (stored.state === 'failed' || stored.deleted_at <= clock.now())
      if (isOver) await removeRow(stored)
      if (!stored || isOver) await begin(account, actor)
      const row = (await find(account))!
      if (row.state !== 'ready') return { state: 'running', createdAt: row.created_at }
      await db.write(audit.entrySql(actor, { action: 'user.export-link-created', target: `user:${account}` }))
      const { url, expiresAt } = links.sign(row.id, `${publicUrl}/auth/exports/${row.id}`, LINK_SECONDS)
      return {
        state: 'ready',
        createdAt: row.created_at,
        size: row.size!,
        deletedAt: row.deleted_at,
        url,
        expiresAt: Date.parse(expiresAt),
      }
    },

    async openExport(id, token) {
      links.verify(id, token)
      const row = await db.get(
        sql<ExportRow>`select * from sixwire_exports where id = ${id} and state = 'ready' and deleted_at > ${clock.now()}`,
      )
      // The archive of a deleted account is deleted soon.
      if (!row || !(await personOf(row.account))) throw gone()
      const bytes = await requireStorage()
        .read(keyOf(id))
        .catch(async (error: unknown) => {
          if ((error as Error).name !== 'NoSuchObject') throw error
          // Deleted from outside, or in the storage of before a move.
          await removeRow(row)
          throw gone()
        })
      return { bytes, size: row.size! }
    },

    async remove(account) {
      const row = await find(account)
      if (row) await removeRow(row)
    },
  }
}
