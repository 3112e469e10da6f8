import { healthStatus, type HealthStatus } from '../../http/health-route.ts'
import { succeedsWithin } from '../../base/within.ts'
import type { ObjectStorage } from './objects/storage.ts'

const PROVIDER_WAIT_MS = 2_000

export type StoreHealth = {
  status: HealthStatus
  uploads: { provider: string; status: 'connected' | 'unhealthy' }
  /** `lastBackup` in ISO 8601 */
  backup: { enabled: boolean; lastBackup: string | null }
}

/** @param lastBackup answers when the last completed backup was made, in ISO 8601 */
export const createHealth =
  ({
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
  async (): Promise<StoreHealth> => {
    const [isConnected, status] = await Promise.all([
      succeedsWithin(PROVIDER_WAIT_MS, () => uploads.ping()),
      healthStatus(database),
    ])
    return {
      status: isConnected ? status : 'unhealthy',
      uploads: { provider: uploads.name, status: isConnected ? 'connected' : 'unhealthy' },
      // Not known while the database is unavailable.
      backup: { enabled: isScheduled, lastBackup: status === 'healthy' ? await lastBackup() : null },
    }
  }
