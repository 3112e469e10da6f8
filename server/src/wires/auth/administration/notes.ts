import { isoTime } from '../../../base/clock.ts'
import { errors } from '../../../base/errors.ts'
import { requireRow } from '../../../db/database.ts'
import { sql } from '../../../db/sql.ts'
import type { Actor } from '../../../http/actor.ts'
import { cutPage, type Page } from '../../../http/page.ts'
import type { WireContext } from '../../../kernel/wire/wire.ts'
import { noAccount, userTarget } from './account.ts'

/** What the staff has written down about a user. */
export type Note = {
  _id: string
  text: string
  /** The id of the account or service key that wrote it. */
  author?: string
  createdAt: string
}

type NoteRow = { id: string; author: string | null; text: string; created_at: number }

export type Notes = {
  /** Newest first. @throws NOT_FOUND if there is no such account */
  list(account: string, page: Page): Promise<{ notes: Note[]; nextCursor?: string }>
  /** The same id again changes nothing. @throws NOT_FOUND if there is no such account */
  create(account: string, note: { id: string; text: string }, actor: Actor): Promise<Note>
  /** @throws NOT_FOUND */
  remove(account: string, id: string, actor: Actor): Promise<void>
}

export function createNotes({ db, clock, audit }: Pick<WireContext, 'db' | 'clock' | 'audit'>): Notes {
  const selectSql = (account: string) =>
    sql<NoteRow>`select id, author, text, created_at from auth_notes where user_id = ${account}`

  return {
    async list(account, page) {
      const place = page.before === undefined ? sql`` : sql`and id < ${page.before}`
      const rows = await db.all<NoteRow>(
        sql`${selectSql(account)} ${place} order by id desc limit ${page.limit + 1}`,
      )
      if (rows.length === 0 && !(await db.get(sql`select 1 as one from auth_users where id = ${account}`)))
        throw noAccount({ id: account })
      const { rows: cut, ...rest } = cutPage(rows, page, ({ id }) => id)
      return { notes: cut.map(noteOf), ...rest }
    },
    async create(account, { id, text }, actor) {
      const isNew = sql`exists (select 1 from auth_users where id = ${account})
        and not exists (select 1 from auth_notes where id = ${id})`
      await db.batch([
        audit.entrySql(actor, {
          action: 'note.created',
          target: userTarget(account),
          after: { note: id },
          onlyIf: isNew,
        }),
        sql`insert into auth_notes (id, user_id, author, text, created_at)
            select ${id}, ${account}, ${actor.id ?? null}, ${text}, cast(${clock.now()} as bigint) where ${isNew}`,
        requireRow(sql`${selectSql(account)} and id = ${id}`, () => noAccount({ id: account })),
      ])
      return noteOf((await db.get<NoteRow>(sql`${selectSql(account)} and id = ${id}`))!)
    },
    async remove(account, id, actor) {
      await db.batch([
        requireRow(sql`delete from auth_notes where id = ${id} and user_id = ${account} returning id`, () =>
          errors.not_found({ message: 'This account has no note with this id.' }),
        ),
        audit.entrySql(actor, {
          action: 'note.deleted',
          target: userTarget(account),
          before: { note: id },
        }),
      ])
    },
  }
}

const noteOf = ({ id, text, author, created_at: createdAt }: NoteRow): Note => ({
  _id: id,
  text,
  ...(author !== null && { author }),
  createdAt: isoTime(createdAt),
})
