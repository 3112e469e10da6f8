import { errors, invalid } from '../../../../base/errors.ts'
import { idPattern, recordIdPattern } from '../../../../base/ids.ts'
import { Type } from '../../../../base/schema.ts'
import type { Database } from '../../../../db/database.ts'
import { json } from '../../../../http/bodies.ts'
import { countedFor } from '../../../../http/limits.ts'
import { endpoint } from '../../../../http/route.ts'
import { requireProof } from '../../../../kernel/policy/policy.ts'
import type { FilesAccess } from '../../documents/file-fields/file-access.ts'
import { BULK_MAX, type FileBulk, type FileSelection } from './file-bulk.ts'
import { FileFilterFields, type FileFilter } from './file-filter.ts'
import { readUsage } from './file-usage.ts'

const OWNERS_MAX = 100

const Sum = {
  files: Type.Integer(),
  bytes: Type.Integer({ description: 'Without resized images.' }),
}

const BulkRequest = Type.Object(
  {
    action: Type.Enum(['delete']),
    ids: Type.Optional(
      Type.Array(Type.String({ pattern: idPattern }), {
        minItems: 1,
        maxItems: BULK_MAX,
        description: 'The files, or filter in place of it.',
      }),
    ),
    filter: Type.Optional(
      Type.Object(FileFilterFields, {
        additionalProperties: false,
        description: 'All files that GET /store/files finds with it; {} is all files.',
        examples: [{ contentType: 'image/*' }],
      }),
    ),
    dryRun: Type.Optional(Type.Boolean({ description: 'Only counts them.' })),
    expected: Type.Optional(
      Type.Integer({
        minimum: 0,
        description: 'How many files there are: 409 with the number if it is another one. Not for a dry run.',
      }),
    ),
  },
  {
    title: 'FileBulkRequest',
    additionalProperties: false,
    examples: [{ action: 'delete', filter: { contentType: 'image/*' }, dryRun: true }],
  },
)

/** The endpoints of many files together, for operators. */
export function fileBulkEndpoints({
  db,
  bulk,
  access,
}: {
  db: Database
  bulk: FileBulk
  access: FilesAccess
}) {
  return {
    bulk: endpoint(
      {
        summary: 'Delete many files',
        description: `Deletes all of them with their bytes, or none, if there are exactly as many as the call says, at most ${BULK_MAX}. A dry run only counts them. A user must have signed in, or confirmed it, within the last 10 minutes to delete them.`,
        access: 'operator',
        body: json(BulkRequest),
        reply: {
          200: Type.Object({ dryRun: Type.Boolean(), ...Sum }, { title: 'FileBulkResult' }),
        },
        errors: [errors.conflict, errors.recent_sign_in_required, errors.unavailable],
      },
      async ({ body, caller, actor, ip, signal }) => {
        const filter = body.filter && (await access.withOwner(caller, body.filter))
        const selection = selectionOf({ ids: body.ids, filter })
        const options = { caller: countedFor({ caller, ip }), signal }
        if (body.dryRun) return { dryRun: true, ...(await bulk.measure(selection, options)) }
        if (body.expected === undefined)
          throw invalid({
            path: '/body/expected',
            message: 'is required: call with dryRun first, which answers the number',
          })
        if (caller.kind === 'user') requireProof(caller)
        return { dryRun: false, ...(await bulk.remove(selection, body.expected, actor, options)) }
      },
    ),
    usage: endpoint(
      {
        summary: 'Get the storage that files take',
        description: 'The number and bytes of all files, and of the owners whose files take most.',
        access: 'operator',
        readsOnly: true,
        query: Type.Object(
          {
            limit: Type.Integer({
              minimum: 1,
              maximum: OWNERS_MAX,
              default: 20,
              description: 'How many owners are listed.',
            }),
            owner: Type.Optional(
              Type.String({ pattern: recordIdPattern, description: 'Lists this one only, if it has files.' }),
            ),
          },
          { additionalProperties: false },
        ),
        reply: {
          200: Type.Object(
            { ...Sum, owners: Type.Array(Type.Object({ owner: Type.String(), ...Sum })) },
            { title: 'FileUsage' },
          ),
        },
      },
      ({ query, caller, ip, signal }) => readUsage(db, query, { caller: countedFor({ caller, ip }), signal }),
    ),
  }
}

/** @throws VALIDATION_ERROR unless the request has either ids or a filter */
function selectionOf({
  ids,
  filter,
}: {
  ids: string[] | undefined
  filter: FileFilter | undefined
}): FileSelection {
  if (ids !== undefined && filter === undefined) return { ids }
  if (filter !== undefined && ids === undefined) return { filter }
  throw invalid({ path: '/body', message: 'give either ids or a filter' })
}
