import { errors } from '../../../server/src/base/errors.ts'
import { isSameSecret } from '../../../server/src/base/crypto.ts'
import { Type } from '../../../server/src/base/schema.ts'
import { signatureOf } from '../../../server/src/kernel/events/signature.ts'
import { readerOf, LIST_MAX } from '../reader.ts'
import type { StandIn, StandInContext } from '../stand-in.ts'
import { createReceivedEvents } from './received-events.ts'

/** Of the time at which an event was sent, as the libraries of Standard Webhooks allow. */
const TOLERANCE_SECONDS = 300

/** Where the receiver is, below the sandbox. */
export const RECEIVER_PATH = '/receiver'

/** Stands in for the application's receiver of events: verifies signatures, and lists what arrived. */
export function createReceiver({ db, clock, faults, base, endpoints }: StandInContext): StandIn {
  const address = base + RECEIVER_PATH
  const events = createReceivedEvents({ db, clock })
  const keys = endpoints.filter(({ url }) => url.href.startsWith(address)).flatMap((one) => one.keys)
  const readQuery = readerOf(
    'query',
    Type.Object({
      type: Type.Optional(Type.String()),
      limit: Type.Integer({ minimum: 1, maximum: LIST_MAX, default: LIST_MAX }),
    }),
  )

  /** https://github.com/standard-webhooks/standard-webhooks/blob/main/spec/standard-webhooks.md#verifying-signatures */
  function isVerified(headers: Record<string, string>, body: string): boolean {
    const timestamp = Number(headers['webhook-timestamp'])
    if (!(Math.abs(clock.now() / 1000 - timestamp) <= TOLERANCE_SECONDS)) return false
    const message = { id: headers['webhook-id'] ?? '', timestamp, body }
    const signatures = (headers['webhook-signature'] ?? '').split(' ')
    return keys.some((key) => {
      const expected = `v1,${signatureOf(message, key)}`
      return signatures.some((signature) => isSameSecret(signature, expected))
    })
  }

  return {
    name: 'receiver',
    takesFaults: true,
    describe: () => ({}),
    async routes(engine) {
      engine.get('/api/receiver', async ({ query }) => ({ events: await events.list(readQuery(query)) }))
      await engine.register(async (open) => {
        open.removeAllContentTypeParsers()
        // Verified as it was sent: written anew, the JSON may be other bytes.
        open.addContentTypeParser('*', { parseAs: 'string' }, (_request, body, done) => done(null, body))
        open.post(RECEIVER_PATH, async (request, reply) => {
          const body = typeof request.body === 'string' ? request.body : ''
          const headers = Object.fromEntries(
            Object.entries(request.headers).map(([name, value]) => [name, String(value)]),
          )
          const verified = isVerified(headers, body)
          const id = await events.add({
            eventId: headers['webhook-id'] ?? '',
            type: typeOf(body),
            isVerified: verified,
            headers,
            body,
          })
          const fault = await faults.next('receiver')
          if (fault.loseAnswer) {
            reply.hijack()
            request.raw.socket.destroy()
            return reply
          }
          const status = fault.error ?? (verified ? 204 : errors.unauthorized().status)
          await events.answered(id, status)
          return reply.code(status).send()
        })
      })
    },
    state: async () => ({
      address,
      isConfigured: keys.length > 0,
      events: await events.count(),
    }),
    part: { name: 'events', version: () => events.version() },
    async reset() {
      await db.write(events.deleteSql())
    },
  }
}

function typeOf(body: string): string {
  try {
    const { type } = JSON.parse(body) as { type?: unknown }
    return typeof type === 'string' ? type : ''
  } catch {
    return ''
  }
}
