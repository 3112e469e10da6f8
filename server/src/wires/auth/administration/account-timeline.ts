import type { Database } from '../../../db/database.ts'
import { sql } from '../../../db/sql.ts'
import { newestIdsSql, numberIn, type TimelinePart } from '../../../kernel/wire/timeline.ts'

/** What the accounts know of what happened to a person. */
export const accountTimeline = ({ db }: { db: Database }): TimelinePart[] => [
  {
    name: 'account',
    async read({ id }, { before }) {
      if (before !== undefined) return []
      const user = await db.get(
        sql<{ created_at: number }>`select created_at from auth_users where id = ${id}`,
      )
      return user ? [{ key: 'created', at: user.created_at, text: 'Account created' }] : []
    },
  },
  {
    name: 'sign-ins',
    async read({ id }, { before, limit }) {
      const [at = '', session = ''] = before?.split(':') ?? []
      const place = before === undefined ? sql`` : sql`and (created_at, id) < (${numberIn(at)}, ${session})`
      const rows = await db.scan<{
        id: string
        created_at: number
        kind: string | null
        ip: string
        user_agent: string
        impersonator_id: string | null
      }>(sql`
        select id, created_at, kind, ip, user_agent, impersonator_id from auth_sessions
        where user_id = ${id} ${place} order by created_at desc, id desc limit ${limit}`)
      return rows.map((row) => ({
        key: `${row.created_at}:${row.id}`,
        at: row.created_at,
        text: row.kind === 'console' ? 'Signed in to the console' : 'Signed in',
        ...(row.impersonator_id === null
          ? { detail: `${row.ip} ${row.user_agent}` }
          : { by: row.impersonator_id }),
      }))
    },
  },
  {
    name: 'notes',
    async read({ id }, page) {
      const rows = await db.scan<{ id: string; author: string | null; text: string; created_at: number }>(sql`
        select id, author, text, created_at from auth_notes
        where id in (${newestIdsSql('auth_notes', [sql`user_id = ${id}`], page)})
        order by id desc limit ${page.limit}`)
      return rows.map((row) => ({
        key: row.id,
        at: row.created_at,
        text: 'Note',
        detail: row.text,
        ...(row.author !== null && { by: row.author }),
      }))
    },
  },
]
