import { errors } from '../../base/errors.ts'
import { ownRows, type RowFilter } from '../../base/row-filter.ts'
import { Type } from '../../base/schema.ts'
import type { Caller } from '../../http/access.ts'
import { isPrivileged, type Policy } from './policy.ts'

/** The parameter of lists whose records have an owner. */
export const OwnerQuery = {
  owner: Type.Optional(
    Type.String({
      minLength: 1,
      maxLength: 64,
      description: 'The id of a user: only what is theirs. For operators.',
    }),
  ),
}

/**
 * The records of a list that a caller may see, and of them those of the owner that the query names.
 *
 * @throws FORBIDDEN if it names one, and the caller is no operator
 */
export function filterByOwner(
  policy: Policy,
  caller: Caller | undefined,
  { owner }: { owner?: string },
): RowFilter {
  if (owner === undefined) return policy.rowFilter(caller)
  if (!isPrivileged(caller))
    throw errors.forbidden({ message: 'Only operators may ask for the records of an owner.' })
  return ownRows(owner)
}
