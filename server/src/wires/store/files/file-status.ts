import { storeErrors } from '../errors.ts'
import type { FileRow } from './files.ts'

const PENDING_SECONDS = 2

/** The file, if its bytes may be served. @throws FILE_PENDING, FILE_REFUSED */
export function requireReady(file: FileRow): FileRow {
  if (file.status === 'pending') throw storeErrors.file_pending({ retryAfter: PENDING_SECONDS })
  if (file.status === 'refused')
    throw storeErrors.file_refused({ message: `File ${file.id} was refused by the scan: ${file.refusal}` })
  return file
}
