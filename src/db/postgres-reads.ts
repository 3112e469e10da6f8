import { GroupForm, setColumn } from './postgres-groups.ts'
import type { PipelineAnswer } from './postgres-pipeline.ts'
import { TurnQueue } from './turn-queue.ts'
import { rowOf, type RawRow } from './postgres-values.ts'
import type { Row, Sql, SqlScalar, Statement } from './sql.ts'

// Pipelines under way beyond which reads wait for each other, so that more of them go together.
const PIPELINES = 4
// One that takes longer holds up nobody.
const SLOW_MS = 10
const LARGEST_GROUP = 500
const FORMS_KEPT = 500

/** What is asked of one statement: a row or all rows of it. */
type Read = {
  readonly statement: Statement
  readonly query: Sql<unknown>
  readonly isPoint: boolean
  readonly resolve: (rows: Row[]) => void
  readonly reject: (error: unknown) => void
}

/** Reads of the same statement with the same parameters: they share an answer. */
type Same = { readonly statement: Statement; readonly reads: Read[] }

/** A statement of a pipeline, and whose answer it is: of each set of parameters, if there are several. */
type Sent = { readonly statement: Statement; readonly sets: readonly Same[]; readonly form: GroupForm }

/** Runs statements in one round trip. */
type RunReads = (statements: readonly Statement[]) => Promise<PipelineAnswer[]>

/**
 * The reads of one turn of the event loop go together, in one round trip: as one query if they are the same statement
 * with other parameters. A read never joins what was sent before it was asked, so it sees what was committed until then.
 */
export class ReadGroups {
  readonly #run: RunReads
  readonly #isRefused: (error: unknown) => boolean
  readonly #forms = new Map<string, GroupForm>()
  #quick = 0
  readonly #queue: TurnQueue<Read> = new TurnQueue(
    () => this.#quick < PIPELINES,
    () => this.#answer(this.#queue.waiting.splice(0, LARGEST_GROUP)),
  )

  /** @param isRefused whether an error of `run` is the fault of one statement, so that others of its group may succeed */
  constructor(run: RunReads, isRefused: (error: unknown) => boolean) {
    this.#run = run
    this.#isRefused = isRefused
  }

  /** @param isPoint whether only the first row is wanted; it must be found by an index */
  read(query: Sql<unknown>, isPoint: boolean): Promise<Row[]> {
    const statement = query.render('postgres')
    return new Promise((resolve, reject) => {
      this.#queue.push({ statement, query, isPoint, resolve, reject })
    })
  }

  /** Resolves when no read waits or is under way. */
  idle(): Promise<void> {
    return this.#queue.idle()
  }

  async #answer(reads: readonly Read[]): Promise<void> {
    let isQuick = true
    const isOver = (): void => {
      if (!isQuick) return
      isQuick = false
      this.#quick--
      this.#queue.schedule()
    }
    this.#quick++
    const timer = setTimeout(isOver, SLOW_MS)
    const sent = this.#plan(reads)
    try {
      const answers = await this.#run(sent.map(({ statement }) => statement))
      for (const [at, one] of sent.entries()) settle(one, answers[at]!)
    } catch (error) {
      isOver()
      await this.#answerEach(sent, error)
    } finally {
      clearTimeout(timer)
      isOver()
    }
  }

  /** As few statements as answer all reads. */
  #plan(reads: readonly Read[]): Sent[] {
    const byText = new Map<string, Map<string, Same>>()
    for (const read of reads) {
      const { text, params } = read.statement
      const sets = byText.get(text) ?? new Map<string, Same>()
      byText.set(text, sets)
      const key = keyOf(params)
      const same = sets.get(key)
      if (same) same.reads.push(read)
      else sets.set(key, { statement: read.statement, reads: [read] })
    }
    return [...byText.values()].flatMap((sets) => this.#statements([...sets.values()]))
  }

  #statements(sets: readonly Same[]): Sent[] {
    const form = this.#formOf(sets[0]!.reads[0]!)
    const isPoint = sets.length > 1 && sets.every(({ reads }) => reads.every((read) => read.isPoint))
    const together = isPoint ? form.statement(sets.map(({ statement }) => statement.params)) : undefined
    if (together) return [{ statement: together, sets, form }]
    return sets.map((same) => ({ statement: same.statement, sets: [same], form }))
  }

  #formOf({ statement: { text, isOnce }, query }: Read): GroupForm {
    let form = this.#forms.get(text)
    if (!form) {
      form = GroupForm.read(() => query.renderWith(setColumn))
      if (!isOnce && this.#forms.size < FORMS_KEPT) this.#forms.set(text, form)
    }
    return form
  }

  /** After a pipeline failed: each set of parameters for itself, so that only the read that is at fault fails. */
  async #answerEach(sent: readonly Sent[], error: unknown): Promise<void> {
    const alone = sent.flatMap(({ sets }) => sets)
    // A server that is away or silent has been asked again already, and hundreds of connections would not bring it back.
    if (alone.length === 1 || !this.#isRefused(error)) return alone.forEach((same) => reject(same, error))
    const works = sent.flatMap(({ sets, form }) =>
      sets.map(async (same) => {
        try {
          const [answer] = await this.#run([same.statement])
          settle({ statement: same.statement, sets: [same], form }, answer!)
          return true
        } catch (own) {
          reject(same, own)
          return false
        }
      }),
    )
    const isRight = await Promise.all(works)
    // Nothing is wrong with the statements, so it is their form.
    if (isRight.every(Boolean)) for (const { sets, form } of sent) if (sets.length > 1) form.giveUp()
  }
}

const keyOf = (params: readonly SqlScalar[]): string => {
  let key = ''
  for (const param of params)
    key += typeof param === 'string' ? `s${param.length}:${param}` : `${typeof param} ${param};`
  return key
}

function settle({ sets, form }: Sent, answer: PipelineAnswer): void {
  if (sets.length === 1) {
    form.learn(answer)
    for (const { resolve, reject: fail, isPoint } of sets[0]!.reads)
      attempt(fail, () => resolve(isPoint ? answer.rows().slice(0, 1) : answer.rows()))
    return
  }
  const first: RawRow[] = []
  for (const raw of answer.raw) first[Number(raw[0]) - 1] ??= raw
  for (const [at, { reads }] of sets.entries()) {
    const raw = first[at]
    for (const { resolve, reject: fail } of reads)
      attempt(fail, () => resolve(raw ? [rowOf(answer.columns, raw, 1)] : []))
  }
}

const reject = ({ reads }: Same, error: unknown): void => reads.forEach((read) => read.reject(error))

/** A row that can't be read fails its own reads only. */
function attempt(fail: (error: unknown) => void, work: () => void): void {
  try {
    work()
  } catch (error) {
    fail(error)
  }
}
