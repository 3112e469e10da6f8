import fastJson from 'fast-json-stringify'
import type { FastifySerializerCompiler } from 'fastify'

/**
 * Makes the functions that write replies as their schemas say. Each is compiled for the first reply that needs it: a
 * start does not pay for routes that nobody calls.
 */
export const lazySerializer: FastifySerializerCompiler<unknown> = ({ schema }) => {
  let write: ((reply: unknown) => string) | undefined
  return (reply) => {
    write ??= fastJson(schema as object) as (reply: unknown) => string
    return write(reply)
  }
}
