import { Type } from '../../base/schema.ts'

/** A time in an answer. */
export const Time = Type.String({ format: 'date-time', description: 'ISO 8601, UTC.' })
