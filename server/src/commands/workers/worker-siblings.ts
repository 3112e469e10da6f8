import type { Answers, Siblings } from '../../base/siblings.ts'
import type { FromWorker, ToWorker } from './messages.ts'

const ASK_LIMIT_MS = 1_000

type Question = {
  /** By the places of those that answered. */
  readonly answers: Map<number, unknown>
  of: number
  kept: readonly unknown[]
  readonly done: () => void
}

/** The other workers, by way of the process that has started all of them. */
export class WorkerSiblings implements Siblings {
  readonly count: number
  readonly index: number
  readonly isFirst: boolean
  readonly #send: (message: FromWorker) => void
  readonly #handlers = new Map<string, (content: unknown) => unknown>()
  readonly #questions = new Map<number, Question>()
  #inherited: Readonly<Record<string, unknown>> = {}
  #asked = 0

  /** @param place its number, of how many, and whether it is the first one: `0 2 first` */
  constructor(place: string, send: (message: FromWorker) => void) {
    const [index, count, first] = place.split(' ')
    this.index = Number(index)
    this.isFirst = first !== undefined
    this.count = Number(count)
    this.#send = send
  }

  tell(topic: string, content: unknown = null): void {
    this.#send({ is: 'tell', topic, content })
  }

  async ask(topic: string, content: unknown = null, limitMs = ASK_LIMIT_MS): Promise<Answers> {
    const id = ++this.#asked
    const { promise, resolve } = Promise.withResolvers<void>()
    const question: Question = { answers: new Map(), of: this.count - 1, kept: [], done: resolve }
    this.#questions.set(id, question)
    const timer = setTimeout(resolve, limitMs)
    this.#send({ is: 'ask', id, topic, content })
    await promise
    clearTimeout(timer)
    this.#questions.delete(id)
    const { answers, kept } = question
    const missing = Array.from({ length: this.count }, (_, at) => at).filter(
      (at) => at !== this.index && !answers.has(at),
    )
    return { answers: [...answers.values()], missing: missing.map((at) => kept[at] ?? undefined) }
  }

  on(topic: string, handle: (content: unknown) => unknown): void {
    this.#handlers.set(topic, handle)
  }

  keep(topic: string, content: unknown): void {
    this.#send({ is: 'keep', topic, content })
  }

  inherited(topic: string): unknown {
    return this.#inherited[topic]
  }

  /** Takes a message of the others. */
  take(message: ToWorker): void {
    if (message.is === 'tell') void this.#handlers.get(message.topic)?.(message.content)
    else if (message.is === 'ask') void this.#answer(message)
    else if (message.is === 'inherit') this.#inherited = message.kept
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
    if (message.is === 'asked') Object.assign(question, { of: message.of, kept: message.kept })
    else question.answers.set(message.from, message.content)
    if (question.answers.size >= question.of) question.done()
  }
}
