import { hash } from 'node:crypto'

import { oneLine } from '../../../base/one-line.ts'
import { scrub } from './scrub.ts'

const LINE_CHARACTERS = 65_536
const MESSAGE_CHARACTERS = 500
const NAME_CHARACTERS = 100
const FIELD_CHARACTERS = 200
const FIELDS_CHARACTERS = 1_000
const STACK_CHARACTERS = 6_000
const FINGERPRINT_CHARACTERS = 20
const ERROR = 50
const LEVELS: Readonly<Record<number, ProblemLevel>> = { 40: 'warn', 50: 'error', 60: 'fatal' }
// `    at name (file:///…/x.ts:1:2)` or `    at /…/x.ts:1:2`: https://v8.dev/docs/stack-trace-api
const FRAME = /^ +at (?:async )?(?:(.*?) \()?((?:file:|\/|[A-Z]:).*):(\d+):\d+\)?$/

export type ProblemLevel = 'warn' | 'error' | 'fatal'

/** An unexpected error. Those of one fingerprint are one fault. */
export type UnexpectedError = {
  fingerprint: string
  name: string
  message: string
  /** The first place outside of packages and of Node. */
  place: string | undefined
  stack: string | undefined
}

/** A warning or an error of the server's log. */
export type LoggedProblem = {
  requestId: string | undefined
  level: ProblemLevel
  message: string
  /** JSON of what else was logged. */
  fields: string | undefined
  error: UnexpectedError | undefined
}

type Line = {
  level?: unknown
  msg?: unknown
  requestId?: unknown
  err?: unknown
  [field: string]: unknown
}

/** Reads a line of the log, which holds no secret by the names of its fields. Undefined if it is none of a problem. */
export function problemOf(line: string): LoggedProblem | undefined {
  if (line.length > LINE_CHARACTERS) return undefined
  const { level, msg, requestId, err, time: _, pid: _pid, hostname: _host, ...others } = parse(line)
  const name = LEVELS[Number(level)]
  if (name === undefined) return undefined
  const reason = reasonOf(err)
  const text = typeof msg === 'string' ? msg : ''
  const isRepeated = reason === undefined || reason.message === text
  return {
    requestId: typeof requestId === 'string' ? requestId : undefined,
    level: name,
    message: oneLine(
      scrub(isRepeated ? text || (reason?.message ?? '') : `${text}: ${reason.message}`),
      MESSAGE_CHARACTERS,
    ),
    fields: fieldsOf(others),
    error: Number(level) >= ERROR && reason !== undefined ? unexpectedError(reason) : undefined,
  }
}

function parse(line: string): Line {
  try {
    return JSON.parse(line) as Line
  } catch {
    return {}
  }
}

type Reason = { name: string; message: string; stack: string | undefined }

/** An error as the logger writes it, or the text of what was thrown in place of one. */
function reasonOf(err: unknown): Reason | undefined {
  if (typeof err === 'string') return { name: 'Thrown', message: err, stack: undefined }
  if (typeof err !== 'object' || err === null) return undefined
  const { type, message, stack } = err as Record<string, unknown>
  return {
    name: typeof type === 'string' ? type : 'Error',
    message: typeof message === 'string' ? message : '',
    stack: typeof stack === 'string' ? stack : undefined,
  }
}

function unexpectedError({ name, message, stack = '' }: Reason): UnexpectedError {
  // The message may hold what a caller sent, and that may look like a place.
  const frames = stack
    .replace(message, () => '')
    .split('\n')
    .map((line) => FRAME.exec(line))
    .filter((frame) => frame !== null)
  const own = frames.find(([line]) => !/node:|node_modules/.test(line)) ?? frames[0]
  const [, caller = '', file, row] = own ?? []
  const shownName = oneLine(name, NAME_CHARACTERS)
  const shownMessage = oneLine(scrub(message), MESSAGE_CHARACTERS)
  // Not by the line where there is a function: lines move with each release.
  const identity = file === undefined ? shownMessage.replaceAll(/\d+/g, '0') : `${caller || row} ${file}`
  return {
    fingerprint: hash('sha256', `${shownName}\n${identity}`, 'hex').slice(0, FINGERPRINT_CHARACTERS),
    name: shownName,
    message: shownMessage,
    place: file === undefined ? undefined : oneLine(`${file}:${row}`, MESSAGE_CHARACTERS),
    stack:
      stack === ''
        ? undefined
        : scrub(stack.slice(0, STACK_CHARACTERS)).toWellFormed().replaceAll('\0', '\ufffd'),
  }
}

/** The texts, numbers and switches that were logged beside the message. */
function fieldsOf(others: Readonly<Record<string, unknown>>): string | undefined {
  const entries = Object.entries(others).flatMap(([name, value]): [string, unknown][] => {
    if (typeof value === 'number' || typeof value === 'boolean') return [[name, value]]
    return typeof value === 'string' ? [[name, oneLine(scrub(value), FIELD_CHARACTERS)]] : []
  })
  if (entries.length === 0) return undefined
  const text = JSON.stringify(Object.fromEntries(entries))
  return text.length > FIELDS_CHARACTERS ? undefined : text
}
