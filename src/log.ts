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

/**
 * The server's log: a line of JSON each, or lines for people where a person looks on.
 *
 * @param to where the lines go; default standard output
 */
export async function createLog(settings: Settings, to?: DestinationStream): Promise<Logger> {
  const options = {
    level: settings.logLevel,
    redact: { paths: SECRETS.flatMap((name) => [name, `*.${name}`, `*.*.${name}`]), censor: '[redacted]' },
  }
  if (to) return pino(options, to)
  if (process.stdout.isTTY && !settings.production) {
    const { default: pretty } = await import('pino-pretty')
    return pino(options, pretty({ sync: true, ignore: 'pid,hostname,requestId', translateTime: 'HH:MM:ss' }))
  }
  // Written in blocks, off the path of a request; the rest follows at the end.
  return pino(options, pino.destination({ sync: false, minLength: 4096, periodicFlush: 1000 }))
}
