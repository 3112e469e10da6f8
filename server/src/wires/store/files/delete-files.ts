import { isOneOf } from '../../../db/is-one-of.ts'
import type { Step } from '../../../db/database.ts'
import { sql } from '../../../db/sql.ts'
import type { Objects } from '../objects/objects.ts'

/** The steps that delete files with their variants, behind what locks them. */
export function deleteFilesSql(
  objects: Pick<Objects, 'discardSql'>,
  ids: readonly string[],
): readonly Step[] {
  const [isFound, isOfFound] = [isOneOf('id', ids), isOneOf('file_id', ids)]
  return [
    ...objects.discardSql(
      'uploads',
      sql`
        select object as key from store_files where ${isFound}
        union all select object from store_variants where ${isOfFound}`,
    ),
    sql`delete from store_variants where ${isOfFound}`,
    sql`delete from store_files where ${isFound}`,
  ]
}
