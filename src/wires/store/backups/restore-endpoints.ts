import { errors } from '../../../base/errors.ts'
import { Type } from '../../../base/schema.ts'
import { endpoint } from '../../../http/route.ts'
import { storeErrors } from '../errors.ts'
import type { Restores } from './restore.ts'
import { LIMIT, OneBackup } from './endpoints.ts'

export function restoreEndpoints(restores: Restores) {
  return {
    restore: endpoint(
      {
        summary: 'Restore a backup',
        description:
          'Replaces all documents and files by those of the backup, at once or not at all. The archive is checked first, and a safety backup is made of what is replaced; while it is made, writes are answered 503. In production, and under the policy guarded, administrators and service keys only.',
        access: 'admin',
        limit: LIMIT,
        irreversible: true,
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
      async ({ params: { id } }) => {
        const { safetyBackup } = await restores.restore({ id })
        return { message: `The backup ${id} is restored.`, safetyBackup }
      },
    ),
  }
}
