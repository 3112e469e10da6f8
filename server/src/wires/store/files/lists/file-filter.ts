import type { Static } from 'typebox'

import { Type } from '../../../../base/schema.ts'
import { containsSql } from '../../../../db/contains.ts'
import { sql, type Sql, type SqlScalar } from '../../../../db/sql.ts'
import { OwnerQuery } from '../../../../kernel/policy/owner-query.ts'
import { NOT_UTF8 } from '../sniff.ts'

/** By what files are found, in a list or to be deleted together. */
export const FileFilterFields = {
  q: Type.Optional(
    Type.String({
      minLength: 1,
      maxLength: 255,
      description: 'A part of the original name; the letters a to z in either case.',
    }),
  ),
  name: Type.Optional(Type.String({ maxLength: 255, description: 'The whole original name.' })),
  contentType: Type.Optional(
    Type.String({
      pattern: '^[\\w!#$&^.+-]{1,127}/([\\w!#$&^.+-]{1,127}|\\*)$',
      description: 'A media type, or all of a kind: image/*.',
      examples: ['image/*'],
    }),
  ),
  ...OwnerQuery,
}

export type FileFilter = Static<ReturnType<typeof Type.Object<typeof FileFilterFields>>>

/** The conditions of `where` that files meet; none for an empty filter. */
export function filterSql({ q, name, contentType, owner }: FileFilter): Sql[] {
  return [
    ...(owner === undefined ? [] : [sql`owner = ${owner}`]),
    ...(contentType === undefined ? [] : [contentTypeSql(contentType)]),
    ...(name === undefined ? [] : [sql`original_name = ${name}`]),
    ...(q === undefined ? [] : [sql`${sql.stoppable(partSql(q))}`]),
  ]
}

export const whereSql = (conditions: readonly Sql[]): Sql =>
  conditions.length === 0 ? sql.literal('') : sql`where ${sql.join(conditions, ' and ')}`

/** Both engines change the case of ASCII letters only: the column of PostgreSQL has the collation C. */
const partSql = (part: string): Sql =>
  containsSql(
    sql.literal('lower(original_name)'),
    part.replaceAll(/[A-Z]/g, (letter) => letter.toLowerCase()),
  )

function contentTypeSql(contentType: string): Sql {
  const wanted = contentType.toLowerCase()
  if (!wanted.endsWith('/*')) return sql`content_type in (${wanted}, ${wanted + NOT_UTF8})`
  const prefix = wanted.slice(0, -1)
  // What sorts directly behind all texts with this prefix: '0' follows '/'.
  const end: SqlScalar = `${prefix.slice(0, -1)}0`
  return sql`content_type >= ${prefix} and content_type < ${end}`
}
