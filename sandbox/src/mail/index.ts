import { deriveKey } from '../../../server/src/base/crypto.ts'
import { Type } from '../../../server/src/base/schema.ts'
import { stablePort } from '../ports.ts'
import { createListReader } from '../reader.ts'
import type { StandIn, StandInContext } from '../stand-in.ts'
import { createBounces } from './bounces.ts'
import { createInbox, type InboxMail } from './inbox.ts'
import { MAGIC_ADDRESSES } from './magic.ts'
import { createSmtp } from './smtp.ts'

const USER = 'sandbox'
const FROM = 'no-reply@sandbox.test' // RFC 6761, section 6.2: no address exists there

/** Stands in for a mail server: accepts mail, and shows it instead of delivering it. */
export function createMail({ db, clock, settings, log, faults, callbacks: queue }: StandInContext): StandIn {
  const inbox = createInbox({ db, clock })
  const key = deriveKey(settings.secret, 'sandbox.mail')
  const password = key.mac('password')
  const bounces = createBounces({ clock }, { queue, url: `${settings.publicUrl}/messaging/email/bounce` })
  const smtp = createSmtp({
    user: USER,
    password,
    port: stablePort(settings, 'mail'),
    // Like the server's own port: these networks may connect here, too.
    ...(settings.sandboxHost.networks.length > 0 && {
      listenAt: settings.host,
      networks: settings.sandboxHost.networks,
    }),
    inbox,
    bounces,
    faults,
    clock,
    log,
  })
  const address = (): string => `${smtp.host}:${smtp.port}`
  const readQuery = createListReader({ search: Type.Optional(Type.String()) })

  const empty = (): Promise<void> => inbox.empty([bounces.deleteSql()])

  async function list(query: unknown): Promise<{ messages: InboxMail[] }> {
    return { messages: await inbox.list(readQuery(query)) }
  }

  return {
    name: 'mail',
    takesFaults: true,
    describe: () => ({
      SMTP_URL: `smtp://${USER}:${password}@${address()}`,
      MAIL_FROM: FROM,
      MAIL_BOUNCE_SECRET: key.mac('bounces'),
    }),
    async routes(engine) {
      engine.get('/api/mail', (request) => list(request.query))
      engine.get<{ Params: { id: string } }>('/api/mail/:id', ({ params }) => inbox.find(params.id))
      engine.get<{ Params: { id: string } }>('/api/mail/:id/source', async ({ params: { id } }, reply) => {
        const source = await inbox.source(id)
        return reply
          .headers({
            'content-type': 'message/rfc822',
            // A browser that showed it might run what is in it.
            'content-disposition': `attachment; filename="${id}.eml"`,
            'x-content-type-options': 'nosniff',
          })
          .send(source)
      })
      engine.delete<{ Params: { id: string } }>('/api/mail/:id', async ({ params }) => {
        await inbox.delete(params.id)
        return { message: 'The mail is deleted.' }
      })
      engine.delete('/api/mail', async () => {
        await empty()
        return { message: 'The inbox is empty.' }
      })
    },
    state: async () => ({
      address: `smtp://${address()}`,
      user: USER,
      password,
      from: FROM,
      messages: await inbox.count(),
      callbacksWaiting: await bounces.waiting(),
      magic: Object.fromEntries(Object.entries(MAGIC_ADDRESSES).map(([local, what]) => [`${local}@…`, what])),
    }),
    part: {
      name: 'inbox',
      // A new mail has another id; without one there are fewer.
      version: async () => [(await inbox.list({ limit: 1 }))[0]?.id ?? null, await inbox.count()],
    },
    reset: empty,
    open: () => smtp.open(),
    async start(configured) {
      bounces.start(configured['MAIL_BOUNCE_SECRET'])
      smtp.start()
    },
    close: () => smtp.close(),
  }
}
