import { deriveKey } from '../../base/crypto.ts'
import { createListReader } from '../reader.ts'
import type { StandIn, StandInContext } from '../stand-in.ts'
import { createBounces } from './bounces.ts'
import { createInbox, type InboxMail } from './inbox.ts'
import { MAGIC_ADDRESSES } from './magic.ts'
import { openSmtp } from './smtp.ts'

const USER = 'sandbox'
const FROM = 'no-reply@sandbox.test' // RFC 6761: nobody has an address there
// Below those that systems give to whoever asks for any port: 32768 on Linux, 49152 elsewhere.
const FIRST_PORT = 20_000
const PORTS = 12_000

/** Stands in for a mail server: takes every mail, and shows it instead of delivering it. */
export async function createMail({
  db,
  clock,
  settings,
  log,
  faults,
  callbacks: queue,
}: StandInContext): Promise<StandIn> {
  const inbox = createInbox(db, clock)
  const key = deriveKey(settings.secret, 'sandbox.mail')
  const password = key.mac('password')
  const callbacks = queue.of('mail')
  const bounces = createBounces(clock, callbacks, `${settings.publicUrl}/messaging/email/bounce`)
  // The same at every start, and another for each application, without a table: there is none yet at the first start.
  const draw = Buffer.from(key.mac(`port for ${settings.databaseUrl}`), 'base64url').readUInt32BE()
  const port = FIRST_PORT + (draw % PORTS)
  const smtp = await openSmtp({ user: USER, password, port, inbox, bounces, faults, clock, log })
  const readQuery = createListReader()

  const empty = (): Promise<void> => inbox.empty([callbacks.removal()])

  async function list(asked: unknown): Promise<{ messages: InboxMail[] }> {
    return { messages: await inbox.list(readQuery(asked)) }
  }

  return {
    name: 'mail',
    takesFaults: true,
    variables: {
      SMTP_URL: `smtp://${USER}:${password}@${smtp.host}:${smtp.port}`,
      MAIL_FROM: FROM,
      MAIL_BOUNCE_SECRET: key.mac('bounces'),
    },
    async routes(engine) {
      engine.get('/api/mail', (request) => list(request.query))
      engine.get<{ Params: { id: string } }>('/api/mail/:id', ({ params }) => inbox.find(params.id))
      engine.delete('/api/mail', async () => {
        await empty()
        return { message: 'The inbox is empty.' }
      })
    },
    state: async () => ({
      address: `smtp://${smtp.host}:${smtp.port}`,
      user: USER,
      password,
      from: FROM,
      messages: await inbox.count(),
      callbacksWaiting: await callbacks.waiting(),
      magic: Object.fromEntries(Object.entries(MAGIC_ADDRESSES).map(([local, what]) => [`${local}@…`, what])),
    }),
    part: {
      name: 'inbox',
      // Mails come one by one and go all at once, or the oldest first.
      version: async () => (await inbox.list({ limit: 1 }))[0]?.id ?? null,
    },
    reset: empty,
    async start(configured) {
      bounces.start(configured['MAIL_BOUNCE_SECRET'])
      smtp.start()
    },
    close: () => smtp.close(),
  }
}
