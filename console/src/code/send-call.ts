import { isError } from '../../../client/src/index.ts'
import { withProof } from '../parts/dialog.tsx'
import { anonymous, six } from '../parts/session.ts'
import { bytes } from '../parts/text.tsx'
import type { SampleValue, SampleCall } from './call.ts'

/** What the server answered: JSON, or text. */
export type SentAnswer = { status: number; milliseconds: number; json?: unknown; text?: string }

type AnyRaw = {
  raw(
    route: string,
    input: {
      params: Readonly<Record<string, string>>
      query: Readonly<Record<string, SampleValue>>
      body: unknown
      signal: AbortSignal
    },
  ): Promise<Response>
}

const TEXT_MAX = 20_000
const EVENTS_MAX = 8_000

/**
 * Sends a call as the reader who is signed in, or as nobody if it needs no token.
 *
 * @param file what is sent where the call has a file
 * @param onEvents called with the events so far; a stream ends with the signal
 * @throws what `fetch` throws, and the error of a stream that breaks
 */
export async function sendCall(
  call: SampleCall,
  file: File | undefined,
  signal: AbortSignal,
  onEvents: (answer: SentAnswer) => void,
): Promise<SentAnswer> {
  const client = (call.hasToken ? six : anonymous) as unknown as AnyRaw
  const { method, path, params, query } = call
  const body = call.file && file ? formWith(call.file, file) : call.body
  const began = performance.now()
  const answerOf = (status: number, rest: Partial<SentAnswer>): SentAnswer => ({
    status,
    milliseconds: Math.round(performance.now() - began),
    ...rest,
  })
  try {
    const response = await withProof(() => client.raw(`${method} ${path}`, { params, query, body, signal }))
    const type = response.headers.get('content-type') ?? ''
    if (type.startsWith('text/event-stream'))
      return await readEvents(response, (text) => onEvents(answerOf(response.status, { text }))).then(
        (text) => answerOf(response.status, { text }),
      )
    if (!/json|^text\/|^$/.test(type)) {
      const { size } = await response.blob()
      return answerOf(response.status, { text: `${bytes(size)} of ${type}` })
    }
    const text = await response.text()
    return answerOf(
      response.status,
      type.includes('json') && text ? { json: JSON.parse(text) } : { text: text.slice(0, TEXT_MAX) },
    )
  } catch (error) {
    if (!isError(error)) throw error
    const { code, message, details } = error
    return answerOf(error.status, {
      json: { error: { code, message, ...(details !== undefined && { details }) } },
    })
  }
}

function formWith({ field, fields }: NonNullable<SampleCall['file']>, file: File): FormData {
  const form = new FormData()
  for (const [name, value] of Object.entries(fields))
    form.set(name, typeof value === 'string' ? value : JSON.stringify(value))
  form.set(field, file)
  return form
}

/** Reads events until they end or are no longer wanted. */
async function readEvents({ body }: Response, onText: (text: string) => void): Promise<string> {
  let text = ''
  const reader = body!.pipeThrough(new TextDecoderStream()).getReader()
  try {
    for (;;) {
      const { done, value } = await reader.read()
      if (done) return text
      text = (text + value).slice(-EVENTS_MAX)
      onText(text)
    }
  } catch (error) {
    if (error instanceof DOMException && error.name === 'AbortError') return text
    throw error
  }
}
