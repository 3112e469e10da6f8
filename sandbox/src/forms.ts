import type { FastifyInstance } from 'fastify'

import { FORM_TYPE } from '../../server/src/http/body-parsers.ts'

/** Lets a plugin's routes accept forms, as providers do; their body is a `URLSearchParams` then. */
export function takeForms(engine: FastifyInstance): void {
  engine.addContentTypeParser(FORM_TYPE, { parseAs: 'string' }, (_request, body, done) =>
    done(null, new URLSearchParams(body as string)),
  )
}

/** The form of a request; an empty one if its body is something else. */
export const formOf = (body: unknown): URLSearchParams =>
  body instanceof URLSearchParams ? body : new URLSearchParams()
