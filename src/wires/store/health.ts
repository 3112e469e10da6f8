import { Type } from '../../base/schema.ts'
import { healthRoute, healthStatus } from '../../http/health-route.ts'
import { succeedsWithin } from '../../base/within.ts'
import type { ObjectStorage } from './objects/storage.ts'

const PROVIDER_WAIT_MS = 2_000

const HealthFields = {
  uploads: Type.Object({ provider: Type.String(), status: Type.Enum(['connected', 'unhealthy']) }),
  backup: Type.Object({
    enabled: Type.Boolean({ description: 'Whether backups are scheduled.' }),
    lastBackup: Type.Union([Type.String({ format: 'date-time' }), Type.Null()], {
      description: 'When the last completed backup was made; null if there is none.',
    }),
  }),
}

/** @param lastBackup answers when the last completed backup was made, in milliseconds since 1970 */
export const storeHealthRoute = ({
  database,
  uploads,
  isScheduled,
  lastBackup,
}: {
  database: () => Promise<void>
  uploads: ObjectStorage
  isScheduled: boolean
  lastBackup: () => Promise<string | null>
}) =>
  healthRoute(
    'GET /store/health',
    {
      title: 'StoreHealth',
      summary: 'Check whether documents and files can be stored',
      fields: HealthFields,
    },
    async () => {
      const [isConnected, status] = await Promise.all([
        succeedsWithin(PROVIDER_WAIT_MS, () => uploads.ping()),
        healthStatus(database),
      ])
      return {
        status: isConnected ? status : ('unhealthy' as const),
        uploads: {
          provider: uploads.name,
          status: isConnected ? ('connected' as const) : ('unhealthy' as const),
        },
        // Not known while the database is unavailable.
        backup: { enabled: isScheduled, lastBackup: status === 'healthy' ? await lastBackup() : null },
      }
    },
  )
