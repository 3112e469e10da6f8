import { join } from 'node:path'

import type { Static } from 'typebox'

import { StartError } from '../../../base/start-error.ts'
import type { StoreOptions } from '../options.ts'
import { createLocalStorage } from './local-storage.ts'
import type { Storages } from './storage.ts'

/** Opens the storages that the options name: the bucket if there is one, else folders of the data folder. */
export async function openStorages(options: Static<typeof StoreOptions>, dataDir: string): Promise<Storages> {
  const { s3, backups } = options
  if (backups.storage === 's3' && s3 === undefined)
    throw new StartError('store.backups.storage: it is s3, but no bucket is configured: set S3_BUCKET')
  if (s3 !== undefined) throw new StartError('store.s3: buckets are not supported yet')
  return {
    uploads: createLocalStorage({ folder: join(dataDir, 'uploads'), isSharded: true }),
    backups: createLocalStorage({ folder: join(dataDir, 'backups'), isSharded: false }),
  }
}
