import { once as eventOf } from 'node:events'
import { createServer, type AddressInfo, type Socket } from 'node:net'

import type { SMTPServerDataStream, SMTPServerSession } from 'smtp-server'

import type { Logger } from '../../../server/src/base/logger.ts'
import { onceResolved } from '../../../server/src/base/once.ts'
import { PendingPromises } from '../../../server/src/base/pending-promises.ts'
import type { Clock } from '../../../server/src/base/clock.ts'
import { isLoopbackAddress, networkFilter } from '../../../server/src/base/ip-address.ts'
import { StartError } from '../../../server/src/base/start-error.ts'
import type { Faults } from '../faults.ts'
import type { Bounces } from './bounces.ts'
import type { Inbox } from './inbox.ts'
import { magicOf, NO_MAILBOX } from './magic.ts'

const SLOW_MS = 3_000
const SIZE_MAX = 30 * 1_048_576
const LOOPBACK = '127.0.0.1'

export type SmtpOptions = {
  user: string
  password: string
  /** The port to listen on, unless another program uses it. */
  port: number
  /** The address to listen at. Default 127.0.0.1. */
  listenAt?: string
  /** Networks that may connect, beside this machine. */
  networks?: readonly string[]
  inbox: Inbox
  bounces: Bounces
  faults: Faults
  clock: Clock
  log: Logger
}

export type Smtp = {
  /** Its host for clients on this machine. */
  readonly host: string
  /** Final once it is open. */
  readonly port: number
  /** Listens; on any free port if another program uses the preferred one. */
  open(): Promise<void>
  /** From now on it accepts mail; before, it answers 451. */
  start(): void
  close(): Promise<void>
}

const refusal = (responseCode: number, message: string): Error =>
  Object.assign(new Error(message), { responseCode })

const WILDCARD = new Set(['0.0.0.0', '::', '[::]'])

/**
 * A real SMTP server for clients that sign in. A message is in the inbox before its 250 is sent. Without STARTTLS, because
 * no client could trust its certificate.
 */
export function createSmtp({
  user,
  password,
  port: preferredPort,
  listenAt = LOOPBACK,
  networks = [],
  inbox,
  bounces,
  faults,
  clock,
  log,
}: SmtpOptions): Smtp {
  const isInNetwork = networkFilter(networks)
  let port = preferredPort
  const sockets = new Map<number, Socket>()
  const underWay = new PendingPromises()
  const closing = new AbortController()
  let isStarted = false

  /** Stores a message. Returns `lost` if a fault has closed the connection instead of an answer. */
  async function store(stream: SMTPServerDataStream, session: SMTPServerSession): Promise<'stored' | 'lost'> {
    const raw = Buffer.concat(await Array.fromAsync(stream as AsyncIterable<Buffer>))
    if (stream.sizeExceeded) throw refusal(552, `5.3.4 The message is larger than ${SIZE_MAX} bytes`)
    const receivers = session.envelope.rcptTo.map(({ address }) => address)
    const magic = new Set(receivers.map(magicOf))
    const fault = await faults.next('mail', closing.signal)
    closing.signal.throwIfAborted()
    if (fault.error !== undefined) throw refusal(fault.error, 'A fault is set for mail at /sandbox')
    if (magic.has('later') && (await inbox.isFirstAttempt(raw)))
      throw refusal(451, '4.7.1 Greylisted: try again')
    const isReturned = magic.has('returned')
    await inbox.add(raw, receivers, (messageId) =>
      isReturned ? bounces.insertSql(messageId, fault.callback) : [],
    )
    if (magic.has('slow')) await clock.sleep(SLOW_MS, { signal: closing.signal })
    closing.signal.throwIfAborted()
    if (!fault.loseAnswer) return 'stored'
    sockets.get(session.remotePort)?.destroy()
    return 'lost'
  }

  async function answer(
    stream: SMTPServerDataStream,
    session: SMTPServerSession,
    done: (error?: Error | null, message?: string) => void,
  ): Promise<void> {
    try {
      if ((await store(stream, session)) === 'stored') done(null, 'In the inbox')
    } catch (error) {
      // There is no answer: the client can't know whether the message was stored.
      if (closing.signal.aborted || stream.errored) return
      if ((error as { responseCode?: number }).responseCode !== undefined) return done(error as Error)
      log.warn({ err: error }, 'the mail server of the sandbox could not store a message')
      done(refusal(451, '4.3.0 The message could not be stored: try again'))
    }
  }

  // Clients may disconnect at any time.
  const failed = (error: Error): void => log.debug({ err: error }, 'a connection of the mail server failed')
  // Made at the first connection: a start does not load its package.
  const protocol = onceResolved(async () => {
    const { SMTPServer } = await import('smtp-server')
    const server = new SMTPServer({
      name: 'sandbox.localhost',
      banner: 'Sixwire sandbox',
      disabledCommands: ['STARTTLS'],
      authMethods: ['PLAIN', 'LOGIN'],
      disableReverseLookup: true,
      logger: false,
      size: SIZE_MAX,
      onConnect({ remoteAddress }, done) {
        const mayConnect = isLoopbackAddress(remoteAddress) || isInNetwork(remoteAddress)
        done(mayConnect ? null : refusal(554, 'SIXWIRE_SANDBOX_HOST does not name your network'))
      },
      onAuth(credentials, _session, done) {
        if (credentials.username === user && credentials.password === password) done(null, { user })
        else done(refusal(535, '5.7.8 Wrong user or password: GET /sandbox/api shows them'))
      },
      onMailFrom(_address, _session, done) {
        done(isStarted ? null : refusal(451, '4.3.2 The server is starting: try again'))
      },
      onRcptTo({ address }, _session, done) {
        done(magicOf(address) === 'bounce' ? refusal(NO_MAILBOX.code, NO_MAILBOX.words) : null)
      },
      onData(stream, session, done) {
        void underWay.add(answer(stream, session, done))
      },
    })
    server.on('error', failed)
    return server.server
  })
  const listener = createServer((socket) => {
    const port = socket.remotePort!
    sockets.set(port, socket)
    socket.on('close', () => sockets.delete(port))
    socket.on('error', failed)
    protocol().then(
      (server) => server.emit('connection', socket),
      (error: unknown) => {
        log.error({ err: error }, 'the mail server of the sandbox could not be loaded')
        socket.destroy()
      },
    )
  })
  listener.on('error', failed)
  const listen = async (port: number): Promise<void> => {
    listener.listen(port, listenAt)
    await eventOf(listener, 'listening')
  }

  return {
    host: WILDCARD.has(listenAt) ? LOOPBACK : listenAt,
    get port() {
      return port
    },
    async open() {
      await listen(preferredPort).catch(async () => {
        await listen(0).catch((error: unknown) => {
          throw new StartError(
            `HOST: the mail server of the sandbox can't listen at ${listenAt}: ${(error as Error).message}`,
          )
        })
        log.info(`port ${preferredPort} is in use: the mail server of the sandbox listens on another one`)
      })
      port = (listener.address() as AddressInfo).port
    },
    start: () => void (isStarted = true),
    async close() {
      const end = Promise.withResolvers<void>()
      listener.close(() => end.resolve())
      closing.abort()
      // Clients that keep connections open must not delay the end; messages under way are stored all the same.
      for (const socket of sockets.values()) socket.destroy()
      await underWay.idle()
      await end.promise
    },
  }
}
