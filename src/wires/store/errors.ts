import { errors } from '../../base/errors.ts'

/** There is no such document, or it is somebody else's. */
export const noDocument = (collection: string, id: string) =>
  errors.not_found({ message: `There is no document ${id} in ${collection}.` })
