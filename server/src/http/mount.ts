import type { FastifyPluginAsync } from 'fastify'

/** Pages and addresses that are not part of the API, with body parsers and checks of their own. */
export type Mount = {
  /** The path below which they are: `/sandbox`. */
  readonly prefix: string
  readonly plugin: FastifyPluginAsync
  /** Host names of a part of their own, with the path that is in front of what they are asked for. */
  readonly hosts?: Readonly<Record<string, string>>
}
