import { errors } from '../../../base/errors.ts'
import { Type } from '../../../base/schema.ts'
import { endpoint } from '../../../http/route.ts'
import { storeErrors } from '../errors.ts'
import type { Restores } from './restore.ts'
import { BACKUP_SCOPE, LIMIT, OneBackup } from './backup-endpoints.ts'

const compared = (what: string) =>
  Type.Object(
    {
      archived: Type.Integer({ description: `${what} in the archive.` }),
      stored: Type.Integer({ description: `${what} that are stored now.` }),
    },
    { description: `${what}.` },
  )

const RestorePreview = Type.Object(
  {
    createdAt: Type.String({ format: 'date-time', description: 'The moment that the archive holds.' }),
    sixwire: Type.String({ description: 'The version of Sixwire that made it.' }),
    documents: compared('Documents'),
    files: compared('Files'),
    bytes: compared('Bytes of files'),
    collections: Type.Array(
      Type.Object({ name: Type.String(), archived: Type.Integer(), stored: Type.Integer() }),
      { description: 'Those of the archive and those that are stored, by name, with their documents.' },
    ),
    definitions: Type.Array(
      Type.Object({
        name: Type.String(),
        here: Type.Enum(['none', 'same', 'other'], {
          description:
            'Whether the collection has no definition here, so that the one of the archive comes into force, the same, or another one, which stays.',
        }),
      }),
      { description: 'The definitions of the archive, by the names of their collections.' },
    ),
  },
  { title: 'RestorePreview' },
)

export function restoreEndpoints({ restores }: { restores: Restores }) {
  return {
    check: endpoint(
      {
        summary: 'Check a backup',
        description:
          'Reads the archive to its end and checks every document and file in it, as a restore does first, and shows what a restore would replace by what. Changes nothing.',
        access: 'operator',
        limit: LIMIT,
        scope: BACKUP_SCOPE,
        params: OneBackup,
        reply: { 200: RestorePreview },
        errors: [errors.not_found, errors.conflict, storeErrors.backup_damaged, errors.unavailable],
      },
      ({ params: { id }, signal }) => restores.preview({ id }, { signal }),
    ),
    restore: endpoint(
      {
        summary: 'Restore a backup',
        description:
          'Replaces all documents and files by those of the backup, at once or not at all; collections that have no definition get that of the backup. The archive is checked first, and a safety backup is made of what is replaced; while it is made, writes are answered 503. In production, and under the policy guarded, administrators and service keys only.',
        access: 'admin',
        limit: LIMIT,
        irreversible: true,
        proof: 'console',
        params: OneBackup,
        reply: {
          200: Type.Object(
            {
              message: Type.String(),
              safetyBackup: Type.String({ description: 'The _id of the backup of what was replaced.' }),
            },
            { title: 'Restored' },
          ),
        },
        errors: [errors.not_found, errors.conflict, storeErrors.backup_damaged, errors.unavailable],
      },
      async ({ params: { id }, actor }) => {
        const { safetyBackup } = await restores.restore({ id }, { actor })
        return { message: `The backup ${id} is restored.`, safetyBackup }
      },
    ),
  }
}
