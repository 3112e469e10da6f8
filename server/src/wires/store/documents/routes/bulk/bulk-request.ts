import type { Static } from 'typebox'

import { invalid } from '../../../../../base/errors.ts'
import { recordIdPattern } from '../../../../../base/ids.ts'
import { Type } from '../../../../../base/schema.ts'
import { readFilterOf } from '../../language/query/parse-filter.ts'
import type { FilterTree, Json } from '../../language/query/filter.ts'
import { patchBy } from '../../writes/request-body.ts'
import type { ApplyChange } from '../../writes/access-checks.ts'

const IDS_MAX = 1000
const PATHS_MAX = 100

/** The body of a change of many documents. */
export const BulkBody = Type.Object(
  {
    filter: Type.Optional(
      Type.Unsafe<Record<string, unknown>>({
        type: 'object',
        additionalProperties: true,
        description: 'A MongoDB query: the documents that it finds. Either this or ids.',
        examples: [{ year: { $lt: 2000 } }],
      }),
    ),
    ids: Type.Optional(
      Type.Array(Type.String({ pattern: recordIdPattern }), {
        minItems: 1,
        maxItems: IDS_MAX,
        description: 'The _id of each document.',
      }),
    ),
    owner: Type.Optional(
      Type.String({ maxLength: 64, description: 'Only documents of this account or service key.' }),
    ),
    action: Type.Enum(['delete', 'set', 'unset'], { examples: ['set'] }),
    set: Type.Optional(
      Type.Unsafe<Record<string, unknown>>({
        type: 'object',
        additionalProperties: true,
        description:
          'With set: values by dotted paths, as $set of a PATCH; lines.$.price is of the first element that the filter matches.',
        examples: [{ shelf: 'B', 'author.born': 1929 }],
      }),
    ),
    unset: Type.Optional(
      Type.Array(Type.String(), {
        minItems: 1,
        maxItems: PATHS_MAX,
        description: 'With unset: the dotted paths of the fields to remove.',
      }),
    ),
    dryRun: Type.Optional(Type.Boolean({ description: 'Only counts the documents.', examples: [true] })),
    expected: Type.Optional(
      Type.Integer({
        minimum: 0,
        description:
          'How many documents match, as a dry run or the last answer says: 409 if it is another number. Required unless it is a dry run.',
      }),
    ),
    cursor: Type.Optional(
      Type.String({
        pattern: recordIdPattern,
        description: 'The nextCursor of the last answer: goes on behind the documents that are done.',
      }),
    ),
  },
  { additionalProperties: false, title: 'BulkChange' },
)
export type BulkBody = Static<typeof BulkBody>

export const BulkReport = Type.Object(
  {
    matched: Type.Integer({ description: 'How many documents match, from the cursor on.' }),
    changed: Type.Integer({ description: 'How many of them are changed or deleted.' }),
    skipped: Type.Integer({
      description:
        'How many were changed or deleted by others since they were counted; they stay as they are.',
    }),
    failed: Type.Integer({ description: 'How many were refused, each for itself.' }),
    remaining: Type.Integer({ description: 'How many are left: send this as expected, with nextCursor.' }),
    errors: Type.Array(Type.Object({ _id: Type.String(), code: Type.String(), message: Type.String() }), {
      description: 'Why documents were refused, of the first 20.',
    }),
    nextCursor: Type.Optional(Type.String({ description: 'Absent if none are left.' })),
  },
  { title: 'BulkReport' },
)
export type BulkReport = Static<typeof BulkReport>

/** What is done to each document: it is deleted, or changed. */
export type BulkAction = 'delete' | ApplyChange

/**
 * Reads what is to be done.
 *
 * @returns the filter as JSON text, as lists take it
 * @throws VALIDATION_ERROR
 */
export function readBulk(body: BulkBody): { filter: string; action: BulkAction } {
  const { filter, ids, cursor, dryRun = false, expected } = body
  if ((filter === undefined) === (ids === undefined))
    throw invalid({ path: '/body/filter', message: 'give either filter or ids' })
  if (!dryRun && expected === undefined)
    throw invalid({
      path: '/body/expected',
      message: 'is required: call with dryRun first, which answers the number',
    })
  const found = filter && readFilterOf(filter as Json, '/body/filter')
  const chosen = filter ?? { _id: { $in: ids } }
  return {
    filter: JSON.stringify(cursor === undefined ? chosen : { $and: [chosen, { _id: { $gt: cursor } }] }),
    action: actionOf(body, found),
  }
}

function actionOf({ action, set, unset }: BulkBody, filter: FilterTree | undefined): BulkAction {
  if ((action === 'set') !== (set !== undefined))
    throw invalid({ path: '/body/set', message: 'is for the action set, which needs it' })
  if ((action === 'unset') !== (unset !== undefined))
    throw invalid({ path: '/body/unset', message: 'is for the action unset, which needs it' })
  if (set) return patchBy({ $set: set }, filter)
  if (unset) return patchBy({ $unset: Object.fromEntries(unset.map((path) => [path, true])) }, filter)
  return 'delete'
}
