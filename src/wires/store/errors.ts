import { errors } from '../../base/errors.ts'

/** The document does not exist, or the caller has no access to it. */
export const noDocument = (collection: string, id: string) =>
  errors.not_found({ message: `Document ${id} not found in ${collection}.` })

/** The file does not exist, or the caller has no access to it. */
export const noFile = (id: string) => errors.not_found({ message: `File ${id} not found.` })
