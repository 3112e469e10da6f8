import { pino, type DestinationStream, type Logger } from 'pino'

import { once } from '../../base/once.ts'
import type { Settings } from '../config/config.ts'
import type { AnswerRecord } from '../../http/answer-record.ts'

// No code logs a secret on purpose; this is a second protection.
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
  /** The logger of the wires and the frame. */
  log: Logger
  /** Writes the line of an answer. */
  answered: (answer: AnswerRecord) => void
  /** Has each line passed on from now on that is a warning or worse; it must not throw. */
  onProblem: (take: (line: string) => void) => void
}

const INFO = 30
const DEBUG = 20
const SANDBOX = /^\/sandbox(\/|$)/

/** Whether a line of the log is a warning or worse, by its first characters. */
export const isProblemLine = (line: string): boolean => {
  const digit = line.charCodeAt('{"level":'.length)
  return digit >= 52 && digit <= 54
}

/**
 * The server's log: a line of JSON each, or a line of text each at a terminal. Requests to the sandbox, its own calls and
 * those of its page, are of the level debug, unless they are refused or the sandbox is open to others.
 *
 * @param to where the lines go; default standard output
 * @param options.terminal whether to write text instead of JSON; by default if standard output is a terminal
 */
export async function createLog(
  settings: Settings,
  to?: DestinationStream,
  { terminal = !to && process.stdout.isTTY && !settings.production }: { terminal?: boolean } = {},
): Promise<Log> {
  const stream = terminal ? await textLines(to ?? process.stdout) : (to ?? standardOutput())
  const paths = SECRETS.flatMap((name) => [name, `*.${name}`, `*.*.${name}`])
  let onProblem: ((line: string) => void) | undefined
  const streamWrite = (line: string): string => {
    if (onProblem && isProblemLine(line)) onProblem(line)
    return line
  }
  const log = pino(
    { level: settings.logLevel, redact: { paths, censor: '[redacted]' }, hooks: { streamWrite } },
    stream,
  )
  const fieldsOf = terminal ? messageOf : propertiesOf
  const { names, networks } = settings.sandboxHost
  const isPrivateSandbox = settings.sandbox && names.length + networks.length === 0
  // Written for each answer. By its construction it contains no secret, so it is not searched for one.
  const answered = (answer: AnswerRecord): void => {
    // Calls of others, and those that are refused, are logged like calls to any other route.
    const isOwnCall = isPrivateSandbox && answer.status < 400 && SANDBOX.test(answer.path)
    const level = isOwnCall ? DEBUG : INFO
    if (level < log.levelVal) return
    stream.write(`{"level":${level},"time":${Date.now()},${fieldsOf(answer)}}\n`)
  }
  return { log, answered, onProblem: (take) => void (onProblem = take) }
}

const tenths = (ms: number): number => Math.round(ms * 10) / 10

/** Written by hand, because that takes a fifth of the time: only texts of the client can hold what JSON has to escape. */
const propertiesOf = ({ requestId, traceId, method, path, status, ms, ip, caller }: AnswerRecord): string =>
  `"requestId":"${requestId}",${traceId === undefined ? '' : `"traceId":"${traceId}",`}"method":"${method}","path":${JSON.stringify(path)},"status":${status},"ms":${tenths(ms)},"ip":${JSON.stringify(ip)}${caller === undefined ? '' : `,"${caller.kind}":"${caller.id}"`}`

/** At a terminal each property would have a line of its own. */
const messageOf = ({ method, path, status, ms }: AnswerRecord): string =>
  `"msg":${JSON.stringify(`${method} ${path} ${status} ${tenths(ms)} ms`)}`

/** Lines of JSON as lines of text. */
async function textLines(to: DestinationStream): Promise<DestinationStream> {
  const { prettyFactory } = await import('pino-pretty')
  const textOf = prettyFactory({ ignore: 'pid,hostname,requestId', translateTime: 'HH:MM:ss' })
  return { write: (line) => to.write(textOf(line)) }
}

const BLOCK_LENGTH = 8192
const FLUSH_MS = 1000

/**
 * Standard output, written in blocks; the rest follows within a second, and at the end. The library would copy a block for each
 * line that is added to it. Not by another thread: passing a block to it takes longer than writing it, and with a slow reader
 * blocks would pile up in memory.
 */
const standardOutput = once((): DestinationStream & { flush(): void } => {
  const output = pino.destination({ sync: true })
  let block = ''
  const flush = (): void => {
    if (block === '') return
    output.write(block)
    block = ''
  }
  setInterval(flush, FLUSH_MS).unref()
  process.on('exit', flush)
  return {
    write(line) {
      block += line
      if (block.length >= BLOCK_LENGTH) flush()
    },
    flush,
  }
})
