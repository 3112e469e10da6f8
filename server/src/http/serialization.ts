import fastJson from 'fast-json-stringify'
import type { FastifySerializerCompiler } from 'fastify'

/**
 * Makes the functions that write replies by their schemas. Each is compiled for its first reply, so that unused routes
 * do not slow the start.
 */
export const lazySerializer: FastifySerializerCompiler<unknown> = ({ schema }) => {
  let write: ((reply: unknown) => string) | undefined
  return (reply) => {
    write ??= fastJson(schema as object) as (reply: unknown) => string
    return write(reply)
  }
}
