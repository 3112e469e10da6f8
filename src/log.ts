import { pino, type DestinationStream, type Logger } from 'pino'

import type { Settings } from './config.ts'
import type { Answered } from './http/server.ts'

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
  /** Writes the line of an answer. */
  answered: (answer: Answered) => void
}

const INFO = 30

/**
 * The server's log: a line of JSON each, or lines for people where a person looks on.
 *
 * @param to where the lines go; default standard output
 */
export async function createLog(settings: Settings, to?: DestinationStream): Promise<Log> {
  const stream = to ?? (await standardOutput(settings))
  const paths = SECRETS.flatMap((name) => [name, `*.${name}`, `*.*.${name}`])
  const log = pino({ level: settings.logLevel, redact: { paths, censor: '[redacted]' } }, stream)
  // There is one for each answer, and it holds no secret by its making: it is spared the search for one.
  // Written by hand, because that takes a fifth of the time: only the path can hold what JSON has to escape.
  const answered = ({ requestId, method, path, status, ms }: Answered): void => {
    stream.write(
      `{"level":${INFO},"time":${Date.now()},"requestId":"${requestId}","method":"${method}","path":${JSON.stringify(path)},"status":${status},"ms":${Math.round(ms * 10) / 10}}\n`,
    )
  }
  return { log, answered: log.isLevelEnabled('info') ? answered : () => undefined }
}

async function standardOutput(settings: Settings): Promise<DestinationStream> {
  if (process.stdout.isTTY && !settings.production) {
    const { default: pretty } = await import('pino-pretty')
    return pretty({ sync: true, ignore: 'pid,hostname,requestId', translateTime: 'HH:MM:ss' })
  }
  // Written in blocks; the rest follows within a second, and at the end. Not by another thread: to hand a block over
  // takes longer than to write it, and what a slow reader leaves waiting would pile up in memory.
  return pino.destination({ sync: true, minLength: 4096, periodicFlush: 1000 })
}
