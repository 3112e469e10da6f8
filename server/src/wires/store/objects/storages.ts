import { join } from 'node:path'

import { StartError } from '../../../base/start-error.ts'
import type { WireContext } from '../../../kernel/wire/wire.ts'
import { createLocalStorage } from './local-storage.ts'
import { readS3Config, type S3Option } from './s3-config.ts'
import { openS3Bucket } from './s3-storage.ts'
import type { Storages } from './storage.ts'

/** Of the settings, the data folder. */
export type StorageContext = Pick<WireContext, 'clock'> & {
  readonly log: { warn(fields: object, text: string): void }
  readonly settings: Pick<WireContext['settings'], 'dataDir'>
}

/**
 * Opens the storages that the options name: the bucket if there is one, else folders of the data folder.
 *
 * @throws StartError if the configuration of the bucket is incomplete
 */
export async function openStorages(
  { clock, log, settings }: StorageContext,
  options: {
    readonly s3?: S3Option | undefined
    readonly backups: { readonly storage?: 'local' | 's3' | undefined }
  },
): Promise<Storages> {
  const config = readS3Config(options.s3)
  if (options.backups.storage === 's3' && !config)
    throw new StartError('store.backups.storage: it is s3, but no bucket is configured: set S3_BUCKET')
  const bucket = config && openS3Bucket({ clock, log }, { config })
  const folder = (name: string, isSharded: boolean) =>
    createLocalStorage({ folder: join(settings.dataDir, name), isSharded })
  return {
    uploads: bucket?.storage('uploads') ?? folder('uploads', true),
    backups:
      (options.backups.storage === 'local' ? undefined : bucket?.storage('backups')) ??
      folder('backups', false),
  }
}

/** Logs what cannot store objects. That is no reason not to start: documents can be stored. */
export async function logFaultsOf(storages: Storages, log: WireContext['log']): Promise<void> {
  // Both may be in one bucket.
  for (const check of new Set(Object.values(storages).map((storage) => storage.check)))
    await check?.().catch((error: unknown) => log.error({ err: error }, 'objects cannot be stored'))
}
