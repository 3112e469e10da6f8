import { existsSync } from 'node:fs'
import { rm } from 'node:fs/promises'
import { join, resolve } from 'node:path'

import { StartError } from '../../../base/start-error.ts'
import { readS3Config, type S3Option } from '../objects/s3-config.ts'
import type { ObjectStorage } from '../objects/storage.ts'
import { openStorages, type StorageContext } from '../objects/storages.ts'

const BUCKET = /^s3:\/\/([^/?#]+)(?:\/([^?#]+?))?\/?$/
const SETTINGS = {
  endpoint: 'S3_ENDPOINT',
  region: 'S3_REGION',
  accessKeyId: 'S3_ACCESS_KEY_ID',
  secretAccessKey: 'S3_SECRET_ACCESS_KEY',
} as const
/** Before the names of the variables of a bucket that files are copied to. */
const NEW = 'NEW_'

/** Where files are copied to, and what is to be set so that a server finds them there. */
export type TargetStorage = {
  readonly uploads: ObjectStorage
  readonly settings: readonly string[]
  /** The data folder, if it is one that was named: the secret of the installation may have to be there, too. */
  readonly dataDir?: string
  /** Deletes what was copied, if nothing can have been there before: the folder is new. */
  discard(): Promise<void>
}

/**
 * Opens the storage that `--files` names: a data folder, or a bucket such as `s3://shop/production`.
 *
 * @param environment its `NEW_S3_…` reach the bucket; if none is set, its `S3_…` do
 * @throws StartError if it can't be
 */
export async function openTargetStorage(
  context: Omit<StorageContext, 'settings'>,
  to: string,
  environment: Readonly<Record<string, string | undefined>>,
): Promise<TargetStorage> {
  if (!to.includes('://')) {
    const dataDir = resolve(to)
    const target = await openStorage({ ...context, settings: { dataDir } }, { backups: {} })
    return { ...target, dataDir, settings: [`DATA_DIR=${dataDir}`] }
  }
  const [, bucket, folder] = BUCKET.exec(to) ?? []
  if (bucket === undefined)
    throw new StartError('--files: write a folder, or s3://bucket or s3://bucket/prefix')
  const names = Object.entries(SETTINGS)
  const from = names.some(([, name]) => environment[NEW + name]) ? NEW : ''
  const reached = Object.fromEntries(
    names.map(([option, name]) => [option, environment[from + name] || undefined]),
  )
  const prefix = folder && `${folder}/`
  const s3: S3Option = { bucket, ...reached, ...(prefix && { prefix }) }
  const target = await openStorage({ ...context, settings: { dataDir: '' } }, { s3, backups: {} })
  const shown = names.flatMap(([option, name]) => {
    const value = option === 'secretAccessKey' ? reached[option] && '…' : reached[option]
    return value ? [`${name}=${value}`] : []
  })
  return {
    ...target,
    settings: [
      `S3_BUCKET=${bucket}`,
      ...shown,
      ...(prefix ? [`store.s3.prefix to ${prefix}, in the configuration`] : []),
    ],
  }
}

/**
 * Opens the storage that a configuration names, for files of an installation that is not there yet.
 *
 * @throws StartError if files of another installation may be there, which it would share
 */
export async function openNewStorage(
  context: StorageContext,
  options: Parameters<typeof openStorages>[1],
): Promise<TargetStorage> {
  const place = readS3Config(options.s3)?.bucket ?? uploadsIn(context)
  if (readS3Config(options.s3) || existsSync(place))
    throw new StartError(
      `--files: say where the files go. ${place}, which the configuration here names, may have those of another installation: what one of the two deletes would be gone for both`,
    )
  return openStorage(context, options)
}

const uploadsIn = ({ settings }: StorageContext): string => join(settings.dataDir, 'uploads')

async function openStorage(
  context: StorageContext,
  options: Parameters<typeof openStorages>[1],
): Promise<TargetStorage> {
  const { uploads } = await openStorages(context, options)
  const folder = uploadsIn(context)
  const isNew = uploads.name === 'local' && !existsSync(folder)
  await uploads.ping().catch((error: unknown) => {
    uploads.close()
    throw new StartError(`--files: ${(error as Error).message}`, { cause: error })
  })
  return {
    uploads,
    settings: [],
    async discard() {
      if (isNew) await rm(folder, { recursive: true, force: true })
    },
  }
}
