import type { Siblings } from '../../base/siblings.ts'
import type { FromWorker, ToWorker } from './messages.ts'

const ASK_LIMIT_MS = 1_000

type Question = {
  readonly answers: unknown[]
  of: number
  readonly done: () => void
}

/** The other workers, by way of the process that has started all of them. */
export class WorkerSiblings implements Siblings {
  readonly count: number
  readonly index: number
  readonly #send: (message: FromWorker) => void
  readonly #handlers = new Map<string, (content: unknown) => unknown>()
  readonly #questions = new Map<number, Question>()
  #asked = 0

  constructor({ index, count }: { index: number; count: number }, send: (message: FromWorker) => void) {
    this.index = index
    this.count = count
    this.#send = send
  }

  tell(topic: string, content: unknown = null): void {
    this.#send({ is: 'tell', topic, content })
  }

  async ask(topic: string, content: unknown = null, limitMs = ASK_LIMIT_MS) {
    const id = ++this.#asked
    const others = this.count - 1
    const { promise, resolve } = Promise.withResolvers<void>()
    const question: Question = { answers: [], of: others, done: resolve }
    this.#questions.set(id, question)
    const timer = setTimeout(resolve, limitMs)
    this.#send({ is: 'ask', id, topic, content })
    await promise
    clearTimeout(timer)
    this.#questions.delete(id)
    return { answers: question.answers, missing: others - question.answers.length }
  }

  on(topic: string, handle: (content: unknown) => unknown): void {
    this.#handlers.set(topic, handle)
  }

  /** Takes a message of the others. */
  take(message: ToWorker): void {
    if (message.is === 'tell') void this.#handlers.get(message.topic)?.(message.content)
    else if (message.is === 'ask') void this.#answer(message)
    else if (message.is === 'asked' || message.is === 'answer') this.#count(message)
  }

  /** A question that fails or that nothing here can answer stays without an answer. */
  async #answer({ id, from, topic, content }: ToWorker & { is: 'ask' }): Promise<void> {
    const handle = this.#handlers.get(topic)
    if (!handle) return
    try {
      this.#send({ is: 'answer', id, to: from, content: (await handle(content)) ?? null })
    } catch {
      // It is logged where it failed.
    }
  }

  #count(message: ToWorker & { is: 'asked' | 'answer' }): void {
    const question = this.#questions.get(message.id)
    // Its time may be over.
    if (!question) return
    if (message.is === 'asked') question.of = message.of
    else question.answers.push(message.content)
    if (question.answers.length >= question.of) question.done()
  }
}
