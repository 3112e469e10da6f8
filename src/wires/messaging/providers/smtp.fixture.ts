// A real SMTP server, one that follows a script, and what the tests send to them.
import { once } from 'node:events'
import { createServer, type AddressInfo, type Socket } from 'node:net'
import type { TestContext } from 'node:test'

import PostalMime, { type Email } from 'postal-mime'
import { SMTPServer, type SMTPServerOptions } from 'smtp-server'

import { freePort } from '../../../testing/free-port.ts'
import type { MailProvider, OutgoingMail, Outcome } from '../provider.ts'
import { smtp } from './smtp.ts'

/** Milliseconds: no outcome but those of a limit waits for it. */
export const PATIENCE = 20_000

export type Received = { from: string; to: string[]; raw: Buffer; secure: boolean; user: unknown }

/** A refusal with the server's code. */
export const no = (responseCode: number, text = 'no, thank you'): Error =>
  Object.assign(new Error(text), { responseCode })

/** A real SMTP server. */
export async function receive(t: TestContext, options: SMTPServerOptions = {}) {
  const received: Received[] = []
  const read = (): Promise<Email[]> => Promise.all(received.map(({ raw }) => PostalMime.parse(raw)))
  const server = new SMTPServer({
    authOptional: true,
    disabledCommands: ['STARTTLS'],
    onData(stream, session, callback) {
      const chunks: Buffer[] = []
      stream.on('data', (chunk: Buffer) => chunks.push(chunk))
      stream.on('end', () => {
        const { mailFrom, rcptTo } = session.envelope
        received.push({
          from: mailFrom ? mailFrom.address : '',
          to: rcptTo.map(({ address }) => address),
          raw: Buffer.concat(chunks),
          secure: session.secure,
          user: session.user,
        })
        callback()
      })
    },
    ...options,
  })
  server.on('error', () => undefined)
  server.listen(0, '127.0.0.1')
  await once(server.server, 'listening')
  t.after(
    () =>
      new Promise<void>((resolve) => {
        server.close(() => resolve())
        drop(server)
      }),
  )
  const { port } = server.server.address() as AddressInfo
  return { received, read, server, port, url: `smtp://127.0.0.1:${port}` }
}

/** Cuts every connection. */
export function drop(server: SMTPServer): void {
  for (const connection of server.connections)
    (connection as unknown as { _socket: Socket })._socket.destroy()
}

/** A server that follows a script: answers each line of a client, or does something else with the connection. */
export async function scripted(t: TestContext, answer: (line: string, socket: Socket) => string | undefined) {
  const sockets = new Set<Socket>()
  const lines: string[] = []
  const server = createServer((socket) => {
    sockets.add(socket)
    socket.on('error', () => undefined)
    let rest = ''
    const say = (line: string): void => {
      const reply = answer(line, socket)
      if (reply !== undefined && !socket.destroyed) socket.write(`${reply}\r\n`)
    }
    say('')
    socket.on('data', (chunk) => {
      const parts = (rest + chunk.toString()).split('\r\n')
      rest = parts.pop()!
      for (const line of parts) {
        lines.push(line)
        say(line)
      }
    })
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.after(async () => {
    for (const socket of sockets) socket.destroy()
    server.close()
    await once(server, 'close')
  })
  return { lines, url: `smtp://127.0.0.1:${(server.address() as AddressInfo).port}` }
}

/** What a plain server answers; what is said of a step replaces it. */
export function script(steps: Record<string, string | ((socket: Socket) => string | undefined)>) {
  let inContent = false
  return (line: string, socket: Socket): string | undefined => {
    const step = inContent ? (line === '.' ? '.' : 'content') : (/^[A-Z]+/.exec(line)?.[0] ?? 'hello')
    if (step === '.') inContent = false
    const usual = {
      hello: '220 here',
      EHLO: '250 here',
      MAIL: '250 ok',
      RCPT: '250 ok',
      DATA: '354 go',
      '.': '250 taken',
    }
    const said =
      steps[step] ?? (usual as Record<string, string>)[step] ?? (step === 'content' ? undefined : '250 ok')
    const reply = typeof said === 'function' ? said(socket) : said
    if (step === 'DATA' && reply?.startsWith('354')) inContent = true
    return reply
  }
}

export function open(t: TestContext, options: Parameters<typeof smtp>[0]): MailProvider {
  const provider = smtp(options)
  t.after(() => provider.close())
  return provider
}

export const letter = (more: Partial<OutgoingMail> = {}): OutgoingMail => ({
  messageId: 'fixed.1@shop.example',
  to: ['ada@example.com'],
  cc: [],
  bcc: [],
  subject: 'Hello',
  html: '<p>Good morning</p>',
  attachments: [],
  ...more,
})

export const send = (t: TestContext, url: string, more?: Partial<OutgoingMail>): Promise<Outcome> =>
  open(t, { url, from: 'shop@example.com' }).send(letter(more), PATIENCE)

/** The address of a server that is not there. */
export const closedAddress = async (): Promise<string> => `smtp://127.0.0.1:${await freePort()}`
