import { identifier } from '../../db/catalogue.ts'
import type { Snapshot } from '../../db/database.ts'
import { sql, type Sql } from '../../db/sql.ts'
import type {
  ExportEntry,
  ExportedColumns,
  ExportedKind,
  DataSubject,
  PersonalTable,
} from '../wire/personal-data.ts'

/** How a column is written, by what it holds. */
const WRITTEN: Readonly<Record<ExportedKind, (column: Sql) => Sql>> = {
  value: (column) => column,
  time: (column) =>
    sql`${sql.either({
      sqlite: sql`strftime('%Y-%m-%dT%H:%M:%fZ', ${column} / 1000.0, 'unixepoch')`,
      postgres: sql`to_char(to_timestamp(${column} / 1000.0) at time zone 'utc', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')`,
    })}`,
  flag: (column) =>
    sql`${sql.either({ sqlite: sql`json(case when ${column} then 'true' else 'false' end)`, postgres: sql`cast(${column} as int) <> 0` })}`,
  json: (column) =>
    sql`${sql.either({ sqlite: sql`json(${column})`, postgres: sql`cast(${column} as json)` })}`,
}

/** The name of a column as the API writes it. */
const fieldOf = (column: string): string =>
  column === 'id' ? '_id' : column.replaceAll(/_([a-z])/g, (_, letter: string) => letter.toUpperCase())

/** The entry of an archive with the rows of a table, one JSON object a line: `auth/sessions.ndjson`. */
export function rowsEntry(
  name: string,
  { key = ['id'], rows }: Pick<PersonalTable, 'key' | 'rows'>,
  exported: ExportedColumns,
  person: DataSubject,
  snapshot: Snapshot,
): ExportEntry {
  const line = objectSql(
    Object.entries(exported).map(([column, of]): [string, Sql] => {
      const { kind, of: expression } = typeof of === 'object' ? of : { kind: of, of: undefined }
      return [fieldOf(column), WRITTEN[kind](expression?.(person) ?? sql.literal(identifier(column)))]
    }),
  )
  return {
    name: fileOf(name),
    open: () =>
      snapshot.lines(sql<{ line: string }>`
        select ${line} as line from ${sql.literal(identifier(name))} where ${rows(person)}
        order by ${sql.literal(key.map(identifier).join(', '))}`),
  }
}

/** `auth_sessions` is `auth/sessions.ndjson`. */
export const fileOf = (table: string): string => `${table.replace('_', '/')}.ndjson`

function objectSql(fields: readonly (readonly [name: string, value: Sql])[]): Sql {
  const pairs = sql.join(fields.map(([name, value]) => sql`${sql.literal(`'${name}'`)}, ${value}`))
  return sql`${sql.either({
    sqlite: sql`json_object(${pairs})`,
    postgres: sql`cast(json_build_object(${pairs}) as text)`,
  })}`
}
