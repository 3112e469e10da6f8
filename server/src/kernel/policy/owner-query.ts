import { errors } from '../../base/errors.ts'
import { ownRows, type RowFilter } from '../../base/row-filter.ts'
import { Type } from '../../base/schema.ts'
import type { Caller } from '../../http/access.ts'
import { isPrivileged, type Policy } from './policy.ts'

/** The owner of records as operators name one: a user, or a service key by its id. */
const OwnerName = Type.String({
  pattern: '^([A-Za-z0-9_-]{1,64}|\\S+@\\S+)$',
  maxLength: 254,
  description:
    'The id or the email address of a user, or the id of a service key: only what is theirs. For operators.',
})

/** The parameter of lists whose records have an owner. */
export const OwnerQuery = { owner: Type.Optional(OwnerName) }

/**
 * The id of the owner that a query names by id or by email address; undefined if it names none. An address of no account is
 * answered as it is: no record has such an owner, so nothing is found.
 *
 * @throws FORBIDDEN if it names one, and the caller is no operator
 */
export async function ownerOf(
  policy: Pick<Policy, 'accountOfEmail'>,
  caller: Caller | undefined,
  { owner }: { owner?: string },
): Promise<string | undefined> {
  if (owner === undefined) return undefined
  if (!isPrivileged(caller))
    throw errors.forbidden({
      message: 'Only operators may ask for the records of an owner: leave out owner.',
    })
  return owner.includes('@') ? ((await policy.accountOfEmail(owner)) ?? owner) : owner
}

/**
 * The records of a list that a caller may see, and of them those of the owner that the query names.
 *
 * @throws FORBIDDEN if it names one, and the caller is no operator
 */
export async function filterByOwner(
  policy: Policy,
  caller: Caller | undefined,
  query: { owner?: string },
): Promise<RowFilter> {
  const owner = await ownerOf(policy, caller, query)
  return owner === undefined ? policy.rowFilter(caller) : ownRows(owner)
}
