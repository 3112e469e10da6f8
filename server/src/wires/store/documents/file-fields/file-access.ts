import type { Static } from 'typebox'

import { sql, type Sql } from '../../../../db/sql.ts'
import { includesOwner, type RowFilter } from '../../../../base/row-filter.ts'
import type { Caller } from '../../../../http/access.ts'
import { ownerOf } from '../../../../kernel/policy/owner-query.ts'
import { isPrivileged, type Policy } from '../../../../kernel/policy/policy.ts'
import { createAccess, type AccessRule, type Action } from '../language/rules/audience.ts'

/** What decides about a file who may read it. */
export type OwnedFile = {
  readonly id: string
  readonly owner: string
  readonly attached_by: string | null
}

/**
 * The files that a caller may see or change for themselves. One that a document has taken is its owner's, and beyond that the
 * document decides: a rule for all files holds for those that are `unattached`.
 */
export type FilesRowFilter = RowFilter<'unattached'>

/** The condition that a row of `store_files` is within; undefined if all are. */
export function isWithinFiles(rowFilter: FilesRowFilter): Sql | undefined {
  if (rowFilter.rows === 'all') return undefined
  if (rowFilter.rows === 'none') return sql`1 = 0`
  if (rowFilter.rows === 'own') return sql`owner = ${rowFilter.owner}`
  const { alsoOf } = rowFilter
  return alsoOf === undefined ? sql`attached_by is null` : sql`(attached_by is null or owner = ${alsoOf})`
}

/** Whether a file is within. */
export const includesFile = (rowFilter: FilesRowFilter, { owner, attached_by }: OwnedFile): boolean =>
  includesOwner(rowFilter, owner) || (rowFilter.rows === 'matching' && attached_by === null)

/** Which files a caller may see or change: those of the rule, if one is configured, else those of the policy. */
export function createFilesAccess(
  { policy }: { policy: Policy },
  { rule }: { rule: Static<typeof AccessRule> | undefined },
) {
  const rowFilterOf = createAccess({ policy }, { declared: rule })
  return {
    /** @throws unauthorized, forbidden */
    rowFilter(caller: Caller | undefined, action: Action): FilesRowFilter {
      const rowFilter = rowFilterOf(caller, action)
      if (rowFilter.rows !== 'all' || isPrivileged(caller)) return rowFilter
      return { rows: 'matching', condition: 'unattached', alsoOf: caller?.id }
    },
    /** The query of a list with the id of the owner whom it names, also by email address. @throws forbidden */
    async withOwner<Q extends { owner?: string }>(caller: Caller | undefined, query: Q): Promise<Q> {
      const owner = await ownerOf(policy, caller, query)
      return owner === undefined ? query : { ...query, owner }
    },
  }
}

export type FilesAccess = ReturnType<typeof createFilesAccess>
