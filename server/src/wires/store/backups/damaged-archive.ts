import { storeErrors } from '../errors.ts'
import type { ApiError } from '../../../base/errors.ts'

/** BACKUP_DAMAGED, with the place and what is wrong there. */
export const damaged = (place: string, fault: string): ApiError =>
  storeErrors.backup_damaged({
    message: `The backup is damaged: ${place}: ${fault}. Nothing was changed; use another backup.`,
  })
