import { ApiError } from '../../../base/errors.ts'
import { StartError } from '../../../base/start-error.ts'

/** What a storage throws, as a line for the operator: callers of the API see nothing of folders and buckets. */
export const storageFault = (error: unknown): unknown =>
  error instanceof ApiError && error.cause instanceof Error
    ? new StartError(error.cause.message, { cause: error })
    : error
