import { errors, type ApiError } from '../base/errors.ts'
import { identifier } from './catalogue.ts'
import type { Snapshot } from './database.ts'
import { sql, type Dialect, type Sql } from './sql.ts'

// What the triggers refuse with, while data is moved and afterwards. Nobody reads it: callers get `closedError`.
const REASON = 'sixwire: the table is closed'
const MOVED_REASON = `${REASON}, and its rows are elsewhere`
const IS_MOVED = 'exists (select 1 from sixwire_moves where moved_at is not null)'
const RETRY_AFTER_S = 5

const WRITES = ['insert', 'update', 'delete'] as const

/** The error for a write into a closed table; undefined if a trigger has refused it for another reason. */
export function closedError(message: string): ApiError | undefined {
  if (message === MOVED_REASON)
    return errors.unavailable({
      message:
        'The data of this server was moved to another database: nothing can be changed here any more. The server must be started with that one.',
    })
  if (message !== REASON) return undefined
  return errors.unavailable({
    message:
      'The data of this server is being moved to another database: nothing can be changed meanwhile. Try again shortly; reads go on.',
    retryAfter: RETRY_AFTER_S,
  })
}

/** What the triggers of PostgreSQL call. */
export const CLOSED_FUNCTION: Sql = sql.literal(`
  create or replace function sixwire_refuse_closed() returns trigger language plpgsql as $$
  begin
    if ${IS_MOVED} then raise exception '${MOVED_REASON}' using errcode = 'SX001'; end if;
    raise exception '${REASON}' using errcode = 'SX001';
  end $$`)

/**
 * The statements that make a table refuse all writes, of every process: as triggers they hold for writers that have read
 * everything else before, and stay when this process ends. Closing waits for the transactions that have written; nobody who
 * reads waits.
 */
export const closeTableSql = (dialect: Dialect, table: string): Sql[] => {
  const name = identifier(table)
  return dialect === 'sqlite'
    ? WRITES.map((write) =>
        sql.literal(`
          create trigger if not exists ${identifier(`${table}_closed_${write}`)} before ${write} on ${name}
          begin
            select raise(abort, '${MOVED_REASON}') where ${IS_MOVED};
            select raise(abort, '${REASON}');
          end`),
      )
    : [
        sql.literal(`
          create or replace trigger sixwire_closed before insert or update or delete or truncate on ${name}
          for each statement execute function sixwire_refuse_closed()`),
        // One that is there already may be switched off.
        sql.literal(`alter table ${name} enable trigger sixwire_closed`),
      ]
}

type ClosedRow = { name: string; table: string }

const CLOSED: Record<Dialect, Sql<ClosedRow>> = {
  sqlite: sql`
    select name, tbl_name as "table" from sqlite_schema where type = 'trigger' and instr(sql, ${REASON}) > 0`,
  postgres: sql`
    select t.tgname::text as name, c.relname::text as "table" from pg_trigger t join pg_class c on c.oid = t.tgrelid
    where t.tgname = 'sixwire_closed' and t.tgenabled <> 'D'
      and c.relnamespace = (select oid from pg_namespace where nspname = current_schema())`,
}

/**
 * The statements that let writes into all closed tables again. On PostgreSQL the triggers stay and are switched off: to drop
 * one would wait for everybody who reads, and make all others wait behind it.
 */
export async function reopenTablesSql(db: Pick<Snapshot, 'all'>, dialect: Dialect): Promise<Sql[]> {
  const closed = await db.all(CLOSED[dialect])
  return closed.map(({ name, table }) =>
    sql.literal(
      dialect === 'sqlite'
        ? `drop trigger if exists ${identifier(name)}`
        : `alter table ${identifier(table)} disable trigger ${identifier(name)}`,
    ),
  )
}
