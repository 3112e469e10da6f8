import { FairSemaphore, type FairLimits } from '../base/fair-semaphore.ts'
import type { Caller } from './access.ts'
import { countedFor } from './limits.ts'

const MIB = 1_048_576
const WAIT_MS = 10_000

/** What requests share in this process. */
export type Limits = Readonly<Record<'requests' | 'bodies' | 'answers', FairSemaphore>>

const KEY = 'key '

/** @param ofCaller of a user, or of a stranger's address; a service key acts for many, and has half of all */
const fair = (total: number, ofCaller: number, waiting: FairLimits['waiting'], isFirstFree: boolean) =>
  new FairSemaphore({
    total,
    ofCaller: (name) => (name.startsWith(KEY) ? total / 2 : ofCaller),
    isFirstFree,
    waiting,
    waitMs: WAIT_MS,
  })

/** How much is under way at once; the rest waits, or is refused. The figures are in docs/operations.md. */
export const limitsOfProcess = (): Limits => ({
  // From when the caller is known until the answer is sent.
  requests: fair(1024, 256, { total: 4096, ofCaller: 1024 }, true),
  // Bytes of bodies that are received or handled.
  bodies: fair(64 * MIB, 16 * MIB, { total: 1024, ofCaller: 256 }, true),
  // Bytes of large answers, from before they are read until they are sent. Twice what may be unsent in all, see
  // limitSending: clients that do not read cannot take everything.
  answers: fair(64 * MIB, 16 * MIB, { total: 1024, ofCaller: 256 }, false),
})

// Of an upload this much is in memory: what has been read, and what is being written.
const UPLOAD_BYTES = MIB
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
 * @param isStreamed whether it is not read as a whole
 */
export function weightOfBody(headers: BodyHeaders, limit: number, isStreamed: boolean): number {
  // What is longer than the limit is refused before it is received.
  const length = headers['transfer-encoding'] === undefined ? Number(headers['content-length'] ?? 0) : limit
  const bytes = Math.min(length, limit)
  if (bytes <= SMALL_BODY) return 0
  return isStreamed ? Math.min(bytes, UPLOAD_BYTES) : bytes * PARSED
}

/** What one request takes of the limits, until its answer is sent and its handler has returned. */
export class Share {
  readonly #limits: Limits
  readonly #name: string
  #users = 1
  #requests = 0
  #bodies = 0
  #answers = 0

  constructor(limits: Limits, request: { caller: Caller | undefined; ip: string }) {
    this.#limits = limits
    this.#name = `${request.caller?.kind === 'key' ? KEY : ''}${countedFor(request)}`
  }

  /**
   * Takes a place for the request, and one for its body.
   *
   * @param body see `weightOfBody`
   * @param signal ends the waiting
   * @returns undefined if both were free
   * @throws TOO_MANY_CONCURRENT, UNAVAILABLE
   */
  begin(body: number, signal: () => AbortSignal): Promise<void> | undefined {
    if (body === 0 && this.#limits.requests.tryTake(this.#name, 1)) {
      this.#requests = 1
      return undefined
    }
    return this.#wait(body, signal())
  }

  async #wait(body: number, signal: AbortSignal): Promise<void> {
    // First, so that no more wait than may for a body: of each up to 64 KiB have been read with its headers.
    if (body > 0) {
      await this.#limits.bodies.take(this.#name, body, signal)
      this.#bodies = body
    }
    try {
      await this.#limits.requests.take(this.#name, 1, signal)
      this.#requests = 1
    } finally {
      this.#giveBackIfOver()
    }
  }

  /**
   * Takes room for an answer.
   *
   * @throws TOO_MANY_CONCURRENT, UNAVAILABLE
   */
  async answer(bytes: number, signal: AbortSignal): Promise<void> {
    await this.#limits.answers.take(this.#name, bytes, signal)
    this.#answers += bytes
    this.#giveBackIfOver()
  }

  /** Gives back what the answer does not need, once its size is known. */
  answerHas(bytes: number): void {
    const rest = this.#answers - bytes
    if (rest <= 0) return
    this.#answers = bytes
    this.#limits.answers.give(this.#name, rest)
  }

  /** The handler runs, maybe for longer than its client waits. */
  enterHandler(): void {
    this.#users++
  }

  leaveHandler(): void {
    if (this.#bodies > 0) this.#limits.bodies.give(this.#name, this.#bodies)
    this.#bodies = 0
    this.release()
  }

  /** The answer is sent, or its client is gone. */
  release(): void {
    this.#users--
    this.#giveBackIfOver()
  }

  #giveBackIfOver(): void {
    if (this.#users > 0) return
    const { requests, bodies, answers } = this.#limits
    if (this.#requests > 0) requests.give(this.#name, this.#requests)
    if (this.#bodies > 0) bodies.give(this.#name, this.#bodies)
    if (this.#answers > 0) answers.give(this.#name, this.#answers)
    this.#requests = this.#bodies = this.#answers = 0
  }
}
