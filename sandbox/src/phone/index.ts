import { deriveKey } from '../../../server/src/base/crypto.ts'
import { Type } from '../../../server/src/base/schema.ts'
import { sql } from '../../../server/src/db/sql.ts'
import { createListReader } from '../reader.ts'
import type { StandIn, StandInContext } from '../stand-in.ts'
import { MAGIC_NUMBERS, OWN_NUMBER, OWN_WHATSAPP_NUMBER } from './magic.ts'
import { createMessages, type ReceivedMessage } from './messages.ts'
import { signReport, type TwilioReport } from './reports.ts'
import { createTwilioApi } from './twilio-api.ts'

/** A plus sign that is not percent-encoded arrives as a space; WhatsApp's addresses are numbers, too. */
const numberOf = (text: string): string => `+${text.replaceAll(/\D/g, '')}`

/** Stands in for Twilio: accepts SMS and WhatsApp messages, shows them, and reports their delivery. */
export function createPhone({
  db,
  clock,
  settings,
  log,
  faults,
  callbacks: queue,
  base,
}: StandInContext): StandIn {
  const key = deriveKey(settings.secret, 'sandbox.phone')
  const hex = (purpose: string): string =>
    Buffer.from(key.mac(purpose), 'base64url').toString('hex').slice(0, 32)
  const account = { sid: `AC${hex('account')}`, token: hex('token') }
  const address = `${base}/phone`
  const callbacks = queue.of<TwilioReport>('phone', (callback) => signReport(account, callback))
  const messages = createMessages({ db, clock }, { pendingIds: callbacks.subjects })
  const readQuery = createListReader({ all: Type.Boolean({ default: false }) })

  async function list(query: unknown): Promise<{ messages: ReceivedMessage[] }> {
    const { to, all, limit } = readQuery(query)
    return {
      messages: await messages.received({ ...(to !== undefined && { to: numberOf(to) }), all, limit }),
    }
  }

  async function empty(): Promise<void> {
    await db.batch([callbacks.deleteSql(), sql`delete from sandbox_phone_messages`])
  }

  return {
    name: 'phone',
    takesFaults: true,
    describe: () => ({
      TWILIO_API_BASE: address,
      TWILIO_ACCOUNT_SID: account.sid,
      TWILIO_AUTH_TOKEN: account.token,
      TWILIO_FROM: OWN_NUMBER,
      TWILIO_WHATSAPP_FROM: OWN_WHATSAPP_NUMBER,
    }),
    async routes(engine) {
      await engine.register(createTwilioApi({ db, clock, log, account, messages, callbacks, faults }), {
        prefix: '/phone',
      })
      engine.get('/api/phone', (request) => list(request.query))
      engine.delete('/api/phone', async () => {
        await empty()
        return { message: 'The phone is empty.' }
      })
    },
    state: async () => ({
      address,
      accountSid: account.sid,
      authToken: account.token,
      from: OWN_NUMBER,
      whatsappFrom: OWN_WHATSAPP_NUMBER,
      messages: await messages.count(),
      callbacksWaiting: await callbacks.waiting(),
      magic: MAGIC_NUMBERS,
    }),
    part: {
      name: 'phone',
      version: async () => (await messages.received({ all: true, limit: 1 }))[0]?.id ?? null,
    },
    reset: empty,
  }
}
