import { FairSemaphore, type FairLimits } from '../base/fair-semaphore.ts'
import type { AnswerRecord } from './answer-record.ts'

const MIB = 1_048_576
const WAIT_MS = 10_000

/** The names of service keys begin with it, those of users and client addresses do not. */
export const KEY = 'key '

/** @param ofCaller of a user, or of a stranger's address; a service key acts for many, and has half of all */
const fair = (total: number, ofCaller: number, waiting: FairLimits['waiting'], isFirstFree: boolean) =>
  new FairSemaphore({
    total,
    ofCaller: (name) => (name.startsWith(KEY) ? total / 2 : ofCaller),
    isFirstFree,
    waiting,
    waitMs: WAIT_MS,
  })

/**
 * What the requests of a server share: how many run, and how much of them is under way at once; the rest waits, or is refused.
 * The figures are in docs/operations.md.
 */
export class Traffic {
  /** From when the caller is known until the answer is sent. */
  readonly requests = fair(1024, 256, { total: 4096, ofCaller: 1024 }, true)
  /** Bytes of bodies that are received or handled. */
  readonly bodies = fair(64 * MIB, 16 * MIB, { total: 1024, ofCaller: 256 }, true)
  /**
   * Bytes of large answers, from before they are read until they are sent. Twice what may be unsent in all, see limitSending:
   * clients that do not read cannot take everything.
   */
  readonly answers = fair(64 * MIB, 16 * MIB, { total: 1024, ofCaller: 256 }, false)
  /** Called once for each answer, for the log and the metrics. */
  readonly onAnswer: (answer: AnswerRecord) => void
  /** How many requests run. */
  running = 0
  #idle: PromiseWithResolvers<void> | undefined

  constructor(onAnswer: Traffic['onAnswer']) {
    this.onAnswer = onAnswer
  }

  /** One request runs less. */
  end(): void {
    if (--this.running > 0) return
    this.#idle?.resolve()
    this.#idle = undefined
  }

  /** How many wait for a share of each limit. */
  waiting(): Record<'requests' | 'bodies' | 'answers', number> {
    const { requests, bodies, answers } = this
    return { requests: requests.waiting, bodies: bodies.waiting, answers: answers.waiting }
  }

  /** Resolves when no request runs, nor a handler whose client has disconnected. */
  async idle(): Promise<void> {
    if (this.running > 0) await (this.#idle ??= Promise.withResolvers()).promise
  }
}

// Of an upload this much is in memory: what has been read, and what is being written; with JSON before it that too.
const UPLOAD_BYTES = MIB
const JSON_BYTES = MIB
// A document takes several times its text while it is parsed.
const PARSED = 4
const SMALL_BODY = 65_536

type BodyHeaders = { 'content-length'?: string | undefined; 'transfer-encoding'?: string | undefined }

/** Whether a body takes a share of `bodies`, or may. */
export const hasLargeBody = (headers: BodyHeaders): boolean =>
  headers['transfer-encoding'] !== undefined || Number(headers['content-length'] ?? 0) > SMALL_BODY

/**
 * What a body takes of `bodies`, in bytes; 0 if it is small.
 *
 * @param read whether it is read as a whole, or is files that are streamed, or JSON before files
 */
export function weightOfBody(
  headers: BodyHeaders,
  limit: number,
  read: 'whole' | 'files' | 'json and files',
): number {
  // What is longer than the limit is refused before it is received.
  const length = headers['transfer-encoding'] === undefined ? Number(headers['content-length'] ?? 0) : limit
  const bytes = Math.min(length, limit)
  if (bytes <= SMALL_BODY) return 0
  if (read === 'whole') return bytes * PARSED
  return Math.min(bytes, read === 'files' ? UPLOAD_BYTES : UPLOAD_BYTES + JSON_BYTES)
}
