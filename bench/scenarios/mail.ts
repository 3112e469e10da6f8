import { once } from 'node:events'
import { connect } from 'node:net'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

import { createTransport } from 'nodemailer'
import { SMTPServer } from 'smtp-server'

import { freePort } from '../../server/src/testing/free-port.ts'
import { defineScenario, type Bench } from '../bench.ts'
import { callers, compare } from '../compare.ts'
import { loadSide } from '../load.ts'
import { startListener } from '../process.ts'

const CONNECTIONS = 16
/** More than the connections, so that none of them waits for the next email. */
const CALLERS = 32
const FROM = 'bench@example.com'
const EMAIL = { to: 'user@example.com', subject: 'Your order', text: 'Your order has shipped.' }
const HTML = '<p>A few words of a shop.</p>'

/** Starts this file as a mail server in a process of its own. @returns its address */
async function startMailServer({ folder, after }: Bench): Promise<string> {
  const port = await freePort()
  const env = { PATH: process.env['PATH'], SMTP_PORT: String(port) }
  const place = { cwd: folder, env, log: join(folder, 'mail-server.log') }
  const server = await startListener([fileURLToPath(import.meta.url)], place, async () => {
    const socket = connect(port, '127.0.0.1')
    await once(socket, 'connect')
    return !socket.destroy().connecting
  })
  after(() => server.stop())
  return `smtp://127.0.0.1:${port}`
}

export default defineScenario({
  name: 'mail',
  summary: 'emails through SMTP, each stored before it is sent, against nodemailer used bare',

  async prepare(bench) {
    const mailServer = await startMailServer(bench)
    const SMTP_URL = `${mailServer}?maxConnections=${CONNECTIONS}&maxMessages=1000000`
    const server = await bench.open('sixwire', 'sixwire', {
      // The account of the bench may write to anybody.
      environment: { SIXWIRE_POLICY: 'open', SMTP_URL, MAIL_FROM: FROM },
      config: { messaging: { limit: '1000000/min' } },
    })
    return { mailServer, server }
  },

  run(bench, { mailServer, server }) {
    const pool = { url: mailServer, pool: true, maxConnections: CONNECTIONS, maxMessages: Infinity } as const
    const transport = createTransport(pool)
    bench.after(() => transport.close())
    const bare = callers(bench, CALLERS, () => transport.sendMail({ ...EMAIL, from: FROM, html: HTML }))
    const body = JSON.stringify({ ...EMAIL, body: HTML })
    const own = loadSide(bench, server, [{ method: 'POST', path: '/messaging/email', body }], CALLERS)
    return compare(bench, `emails, ${CALLERS} callers, ${CONNECTIONS} connections`, ['nodemailer', bare], own)
  },
})

/** Accepts every email and stores none. */
if (import.meta.main)
  new SMTPServer({
    authOptional: true,
    disabledCommands: ['STARTTLS', 'AUTH'],
    disableReverseLookup: true,
    onData: (stream, _session, done) => void stream.on('end', () => done()).resume(),
  }).listen(Number(process.env['SMTP_PORT']), '127.0.0.1')
