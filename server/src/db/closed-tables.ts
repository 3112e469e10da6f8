import { errors, type ApiError } from '../base/errors.ts'
import { identifier } from './catalogue.ts'
import { sql, type Dialect, type Sql } from './sql.ts'

// What the triggers refuse with. Nobody reads it: callers get `closedError`.
const REASON = 'sixwire: the table is closed'
const RETRY_AFTER_S = 5

const WRITES = ['insert', 'update', 'delete'] as const

/** The error for a write into a closed table; undefined if a trigger has refused it for another reason. */
export const closedError = (message: string): ApiError | undefined =>
  message === REASON
    ? errors.unavailable({
        message:
          'The data of this server is being moved, so nothing can be changed: try again shortly. Reads go on.',
        retryAfter: RETRY_AFTER_S,
      })
    : undefined

/**
 * The statements that make tables refuse all writes, of every process: as triggers they hold for writers that have read
 * everything else before, and stay when this process ends. Closing waits for the transactions that have written; nobody who
 * reads waits.
 */
export const closeTablesSql = (dialect: Dialect, tables: readonly string[]): Sql[] =>
  dialect === 'sqlite'
    ? tables.flatMap((table) =>
        WRITES.map((write) =>
          sql.literal(`
            create trigger if not exists ${identifier(`${table}_closed_${write}`)}
            before ${write} on ${identifier(table)}
            begin select raise(abort, '${REASON}'); end`),
        ),
      )
    : [
        sql.literal(`
          create or replace function sixwire_refuse_closed() returns trigger language plpgsql as $$
          begin raise exception '${REASON}' using errcode = 'SX001'; end $$`),
        ...tables.map((table) =>
          sql.literal(`
            create or replace trigger ${identifier(`${table}_closed`)}
            before insert or update or delete or truncate on ${identifier(table)}
            for each statement execute function sixwire_refuse_closed()`),
        ),
      ]

/** The statements that let writes into tables again. */
export const reopenTablesSql = (dialect: Dialect, tables: readonly string[]): Sql[] =>
  tables.flatMap((table) =>
    dialect === 'sqlite'
      ? WRITES.map((write) => sql.literal(`drop trigger if exists ${identifier(`${table}_closed_${write}`)}`))
      : [sql.literal(`drop trigger if exists ${identifier(`${table}_closed`)} on ${identifier(table)}`)],
  )
