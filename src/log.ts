import { pino, type DestinationStream, type Logger } from 'pino'

import type { Settings } from './config.ts'

// No secret is logged knowingly; this is the second lock on that door.
const SECRETS = [
  'authorization',
  'cookie',
  'password',
  'currentPassword',
  'newPassword',
  'token',
  'refreshToken',
  'secret',
]

export type Log = {
  /** For whatever wires and the frame have to say. */
  log: Logger
  /** For the line of each answer: it holds no secret by its making, so it is spared the search for one. */
  answers: Logger
}

/**
 * The server's log: a line of JSON each, or lines for people where a person looks on.
 *
 * @param to where the lines go; default standard output
 */
export async function createLog(settings: Settings, to?: DestinationStream): Promise<Log> {
  const stream = to ?? (await standardOutput(settings))
  const level = settings.logLevel
  const paths = SECRETS.flatMap((name) => [name, `*.${name}`, `*.*.${name}`])
  return {
    log: pino({ level, redact: { paths, censor: '[redacted]' } }, stream),
    answers: pino({ level }, stream),
  }
}

async function standardOutput(settings: Settings): Promise<DestinationStream> {
  if (process.stdout.isTTY && !settings.production) {
    const { default: pretty } = await import('pino-pretty')
    return pretty({ sync: true, ignore: 'pid,hostname,requestId', translateTime: 'HH:MM:ss' })
  }
  // Written in blocks, off the path of a request; the rest follows at the end.
  return pino.destination({ sync: false, minLength: 4096, periodicFlush: 1000 })
}
