import { requireRow, type Step } from '../../../../db/database.ts'
import type { ApiError } from '../../../../base/errors.ts'
import { isOneOf } from '../../../../db/is-one-of.ts'
import { sql, type Sql } from '../../../../db/sql.ts'
import type { FileField } from '../definition/file-field.ts'

/** A file that a document is to have in a field. */
type Attachment = { readonly field: FileField; readonly id: string }

/**
 * The steps in front of a write that gives files to a document. They lock the files, so that none is deleted until the commit.
 *
 * @param condition that each of them must be within, as it was when it was decided on: another document may have taken it since
 * @param otherwise makes the error if one of them is not any more
 */
export function attachSteps(
  attachments: readonly Attachment[],
  condition: Sql | undefined,
  otherwise: () => ApiError,
): Step[] {
  const ids = [...new Set(attachments.map(({ id }) => id))]
  return [requireRow(lockFilesSql(ids, condition), otherwise), ...takeSteps(attachments)]
}

/** Likewise of those files that are there. */
export const attachKnownSteps = (attachments: readonly Attachment[]): Step[] =>
  attachments.length === 0
    ? []
    : [lockFilesSql([...new Set(attachments.map(({ id }) => id))]), ...takeSteps(attachments)]

/**
 * Locks files until the end of the transaction; no row unless all of them are there. In the order of their ids, so that two
 * transactions never wait for each other in a circle.
 */
const lockFilesSql = (ids: readonly string[], condition: Sql = sql`true`): Sql<{ complete: number }> => sql`
  select 1 as complete from (
    select count(*) as files from (
      select id from store_files where ${isOneOf('id', ids)} and ${condition} order by id ${sql.forUpdate}) as locked
  ) as counted where files = ${ids.length}`

const takeSteps = (attachments: readonly Attachment[]): Step[] =>
  [...Map.groupBy(attachments, ({ field }) => field)].map(([field, of]) =>
    takeSql(
      field,
      of.map(({ id }) => id),
    ),
  )

/** Files that go from one field of documents to another. */
type MovedFiles = { readonly from: FileField; readonly to: FileField; readonly ids: readonly string[] }

/** Likewise of files that the field before has taken. */
export const moveFilesSteps = (moved: readonly MovedFiles[]): Step[] => {
  const ids = [...new Set(moved.flatMap((one) => one.ids))]
  if (ids.length === 0) return []
  return [lockFilesSql(ids), ...moved.map((one) => takeSql(one.to, one.ids, isNotedSql(one.from)))]
}

/** Notes that a field takes files. All fields that ever did are kept: one of them may not be declared any more. */
function takeSql(field: FileField, ids: readonly string[], condition: Sql = sql`true`): Sql {
  const { name } = field
  const isNoted = isNotedSql(field)
  return sql`
    update store_files set
      attached_by = case
        when attached_by is null then ${name}
        when ${isNoted} then attached_by
        else attached_by || cast(${`\n${name}`} as text) end,
      released_at = null
    where ${isOneOf('id', ids)} and ${condition} and (attached_by is null or released_at is not null or not (${isNoted}))`
}

/** Whether a field is noted of a file. */
function isNotedSql({ name }: FileField): Sql {
  const line = `\n${name}\n`
  const lines = sql`(cast(${'\n'} as text) || attached_by || cast(${'\n'} as text))`
  return sql`${sql.either({
    sqlite: sql`instr(${lines}, ${line}) > 0`,
    postgres: sql`strpos(${lines}, cast(${line} as text)) > 0`,
  })}`
}
