import { Coalescer } from '../base/coalesce.ts'
import { GroupForm, setColumn } from './postgres-groups.ts'
import type { PipelineAnswer } from './postgres-pipeline.ts'
import { rowOf, type RawRow } from './postgres-values.ts'
import type { Row, Sql, SqlScalar, Statement } from './sql.ts'

// Pipelines under way beyond which reads wait for each other, so that more of them go together.
const PIPELINES = 4
// One that takes longer holds up nobody.
const SLOW_MS = 10
const LARGEST_GROUP = 500
const FORMS_KEPT = 500

/** What is asked of one statement: a row or all rows of it. */
type Read = { readonly statement: Statement; readonly query: Sql<unknown>; readonly isPoint: boolean }

/** Returns the rows of each read, or throws what is wrong with them. */
type ReadResults = Map<Read, () => Row[]>

/** Reads of the same statement with the same parameters: they share an answer. */
type SameReads = { readonly statement: Statement; readonly reads: Read[] }

/** A statement of a pipeline, and whose answer it is: of each set of parameters, if there are several. */
type GroupedRead = {
  readonly statement: Statement
  readonly sets: readonly SameReads[]
  readonly form: GroupForm
}

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
  readonly #reads = new Coalescer<Read, Row[]>({
    answer: (reads) => this.#answer(reads),
    groups: PIPELINES,
    slowMs: SLOW_MS,
    largest: LARGEST_GROUP,
  })

  /** @param isRefused whether an error of `run` is the fault of one statement, so that others of its group may succeed */
  constructor(run: RunReads, isRefused: (error: unknown) => boolean) {
    this.#run = run
    this.#isRefused = isRefused
  }

  /** @param isPoint whether only the first row is wanted; it must be found by an index */
  read(query: Sql<unknown>, isPoint: boolean): Promise<Row[]> {
    return this.#reads.call({ statement: query.render('postgres'), query, isPoint })
  }

  /** Resolves when no read waits or is under way. */
  idle(): Promise<void> {
    return this.#reads.idle()
  }

  async #answer(reads: readonly Read[]): Promise<(Row[] | Promise<Row[]>)[]> {
    const grouped = this.#plan(reads)
    const results: ReadResults = new Map()
    try {
      const answers = await this.#run(grouped.map(({ statement }) => statement))
      for (const [at, one] of grouped.entries()) collectResults(one, answers[at]!, results)
    } catch (error) {
      const sets = grouped.flatMap((one) => one.sets)
      // A server that is away or silent has been asked again already, and hundreds of connections would not bring it back.
      if (sets.length === 1 || !this.#isRefused(error)) throw error
      await this.#answerEach(grouped, results)
    }
    return reads.map((read) => attempt(results.get(read)!))
  }

  /** As few statements as answer all reads. */
  #plan(reads: readonly Read[]): GroupedRead[] {
    const byText = new Map<string, Map<string, SameReads>>()
    for (const read of reads) {
      const { text, params } = read.statement
      const sets = byText.get(text) ?? new Map<string, SameReads>()
      byText.set(text, sets)
      const key = keyOf(params)
      const same = sets.get(key)
      if (same) same.reads.push(read)
      else sets.set(key, { statement: read.statement, reads: [read] })
    }
    return [...byText.values()].flatMap((sets) => this.#statements([...sets.values()]))
  }

  #statements(sets: readonly SameReads[]): GroupedRead[] {
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
  async #answerEach(grouped: readonly GroupedRead[], results: ReadResults): Promise<void> {
    const works = grouped.flatMap(({ sets, form }) =>
      sets.map(async (same) => {
        try {
          const [answer] = await this.#run([same.statement])
          collectResults({ statement: same.statement, sets: [same], form }, answer!, results)
          return true
        } catch (error) {
          for (const read of same.reads)
            results.set(read, () => {
              throw error
            })
          return false
        }
      }),
    )
    const isRight = await Promise.all(works)
    // Nothing is wrong with the statements, so it is their form.
    if (isRight.every(Boolean)) for (const { sets, form } of grouped) if (sets.length > 1) form.giveUp()
  }
}

const keyOf = (params: readonly SqlScalar[]): string => {
  let key = ''
  for (const param of params)
    key += typeof param === 'string' ? `s${param.length}:${param}` : `${typeof param} ${param};`
  return key
}

function collectResults({ sets, form }: GroupedRead, answer: PipelineAnswer, results: ReadResults): void {
  if (sets.length === 1) {
    form.learn(answer)
    for (const read of sets[0]!.reads)
      results.set(read, () => (read.isPoint ? answer.rows().slice(0, 1) : answer.rows()))
    return
  }
  const first: RawRow[] = []
  for (const raw of answer.raw) first[Number(raw[0]) - 1] ??= raw
  for (const [at, { reads }] of sets.entries()) {
    const raw = first[at]
    for (const read of reads) results.set(read, () => (raw ? [rowOf(answer.columns, raw, 1)] : []))
  }
}

/** A row that can't be read fails its own reads only. */
function attempt(rows: () => Row[]): Row[] | Promise<Row[]> {
  try {
    return rows()
  } catch (error) {
    return Promise.reject(error instanceof Error ? error : new Error(String(error)))
  }
}
