import { defineErrors, errors, ApiError } from '../../base/errors.ts'

/** The errors of the store wire. */
export const storeErrors = defineErrors({
  file_pending: [409, 'The file is not scanned yet: try again after Retry-After.'],
  file_refused: [403, 'The file was refused by the scan.'],
  range_not_satisfiable: [416, 'No part of the Range is within the file.'],
  image_too_large: [422, 'The image is too large to be resized: resize it before you upload it.'],
  image_unreadable: [422, 'The image cannot be read: it is damaged.'],
  upload_busy: [423, 'The bytes have arrived and become a file now: ask again shortly.'],
  checksum_mismatch: [460, 'The bytes do not have the checksum that was sent: send them again.'],
  quota_exceeded: [413, 'There is no room for this: delete files or documents first.'],
  definition_refused: [409, 'The definition of the collection is refused: documents do not fit it.'],
  backup_damaged: [422, 'The backup is damaged: use another one.'],
})

/** Another document has the id that was sent for a new one. */
export const takenId = (collection: string, id: string): ApiError =>
  errors.conflict({
    message: `There is a document with the _id ${id} in ${collection} already.`,
    details: { fields: ['_id'] },
  })

/** Whether an error is `takenId`. */
export const isTakenId = (error: unknown): boolean =>
  error instanceof ApiError && error.status === 409 && String(error.details?.['fields']) === '_id'

/** The document does not exist, or the caller has no access to it. */
export const noDocument = (collection: string, id: string): ApiError =>
  errors.not_found({ message: `Document ${id} not found in ${collection}.` })

/** The upload does not exist or has expired, or it is another caller's. */
export const noUpload = (id: string): ApiError =>
  errors.not_found({ message: `Upload ${id} not found: it may have expired. Create a new one.` })

/** The file does not exist, or the caller has no access to it. */
export const noFile = (id: string): ApiError => errors.not_found({ message: `File ${id} not found.` })
