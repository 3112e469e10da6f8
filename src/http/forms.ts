import type { FastifyInstance } from 'fastify'

import { errors, invalid } from '../base/errors.ts'
import { decodeUtf8 } from '../base/json.ts'

export const FORM_TYPE = 'application/x-www-form-urlencoded'

/**
 * Has an engine's routes take a form instead of JSON: webhooks that others have designed.
 * Each field is text, and there once: which one of two was signed, or meant, nobody could tell.
 */
export function takeForms(engine: FastifyInstance): void {
  engine.removeAllContentTypeParsers()
  engine.addContentTypeParser(FORM_TYPE, { parseAs: 'buffer' }, (_request, bytes, done) => {
    try {
      done(null, parseForm(decodeUtf8(bytes as Buffer)))
    } catch (error) {
      done(error as Error)
    }
  })
  engine.addContentTypeParser('*', (_request, _payload, done) =>
    done(errors.unsupported_media_type({ message: `Send the body as ${FORM_TYPE}.` })),
  )
}

/** https://url.spec.whatwg.org/#application/x-www-form-urlencoded */
function parseForm(text: string): Record<string, string> {
  const fields = new Map<string, string>()
  for (const [name, value] of new URLSearchParams(text)) {
    if (fields.has(name)) throw invalid({ path: '/body', message: 'holds a field twice' })
    if (name.includes('\0') || value.includes('\0'))
      throw invalid({ path: '/body', message: 'holds a character that is not allowed' })
    fields.set(name, value)
  }
  return Object.fromEntries(fields)
}
