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

/** Reads of the same statement with the same parameters: they share the rows, and what is wrong with them. */
type SameReads = { readonly statement: Statement; isPoint: boolean; rows: Row[] | Promise<Row[]> | undefined }

/** A statement of a pipeline, and whose answer it is: of each set of parameters, if there are several. */
type GroupedRead = {
  readonly statement: Statement
  readonly sets: readonly SameReads[]
  readonly form: GroupForm
}

/** Has the statements behind it planned without bitmaps, which have no order, to the end of their transaction. */
const KEEP_ORDER: Statement = { text: `select set_config('enable_bitmapscan', 'off', true)`, params: [] }

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

  /**
   * Answers rows that other readers may have as well.
   *
   * @param isPoint whether only the first row is wanted; it must be found by an index
   */
  read(query: Sql<unknown>, isPoint: boolean): Promise<Row[]> {
    return this.#reads.call({ statement: query.render('postgres'), query, isPoint })
  }

  /** Resolves when no read waits or is under way. */
  idle(): Promise<void> {
    return this.#reads.idle()
  }

  async #answer(reads: readonly Read[]): Promise<(Row[] | Promise<Row[]>)[]> {
    const plan = new ReadPlan()
    const shared = reads.map((read) => plan.add(read))
    const grouped = plan.texts.flatMap((one) => this.#statements(one))
    try {
      await this.#collect(grouped)
    } catch (error) {
      const sets = grouped.flatMap((one) => one.sets)
      // A server that is away or silent has been asked again already, and hundreds of connections would not bring it back.
      if (sets.length === 1 || !this.#isRefused(error)) throw error
      await this.#answerEach(grouped)
    }
    return shared.map(({ rows }) => rows!)
  }

  #statements({ query, sets }: SameText): GroupedRead[] {
    const form = this.#formOf(sets[0]!.statement, query)
    const isPoint = sets.length > 1 && sets.every((same) => same.isPoint)
    const together = isPoint ? form.statement(sets.map(({ statement }) => statement.params)) : undefined
    if (together) return [{ statement: together, sets, form }]
    return sets.map((same) => ({ statement: same.statement, sets: [same], form }))
  }

  /** Runs statements and keeps their rows. Those of `sql.inOrder` are last, so that the others are planned as usual. */
  async #collect(grouped: readonly GroupedRead[]): Promise<void> {
    const inOrder = grouped.filter(({ statement }) => statement.isInOrder)
    const others = grouped.filter(({ statement }) => !statement.isInOrder)
    const asked = inOrder.length === 0 ? others : [...others, undefined, ...inOrder]
    const answers = await this.#run(asked.map((one) => one?.statement ?? KEEP_ORDER))
    for (const [at, one] of asked.entries()) if (one) collectRows(one, answers[at]!)
  }

  #formOf({ text, isOnce }: Statement, query: Sql<unknown>): GroupForm {
    let form = this.#forms.get(text)
    if (!form) {
      form = GroupForm.read(() => query.renderWith(setColumn))
      if (!isOnce && this.#forms.size < FORMS_KEPT) this.#forms.set(text, form)
    }
    return form
  }

  /** After a pipeline failed: each set of parameters for itself, so that only the read that is at fault fails. */
  async #answerEach(grouped: readonly GroupedRead[]): Promise<void> {
    const works = grouped.flatMap(({ sets, form }) =>
      sets.map(async (same) => {
        try {
          await this.#collect([{ statement: same.statement, sets: [same], form }])
          return true
        } catch (error) {
          same.rows = rejected(error)
          return false
        }
      }),
    )
    const isRight = await Promise.all(works)
    // Nothing is wrong with the statements, so it is their form.
    if (isRight.every(Boolean)) for (const { sets, form } of grouped) if (sets.length > 1) form.giveUp()
  }
}

/** The reads of statements of the same text, by their parameters. */
type SameText = {
  readonly query: Sql<unknown>
  readonly sets: SameReads[]
  /** By the longest text among the parameters, which is an id where there is one. */
  readonly byLongest: Map<string, SameReads[]>
}

/** Finds the reads of a group that have the same statement and the same parameters. */
class ReadPlan {
  readonly #byText = new Map<string, SameText>()

  get texts(): SameText[] {
    return [...this.#byText.values()]
  }

  add({ statement, query, isPoint }: Read): SameReads {
    const { text, params } = statement
    let all = this.#byText.get(text)
    if (!all) this.#byText.set(text, (all = { query, sets: [], byLongest: new Map() }))
    const longest = longestOf(params)
    let alike = all.byLongest.get(longest)
    if (!alike) all.byLongest.set(longest, (alike = []))
    let same = alike.find((one) => areSame(one.statement.params, params))
    if (!same) {
      same = { statement, isPoint, rows: undefined }
      alike.push(same)
      all.sets.push(same)
    }
    same.isPoint &&= isPoint
    return same
  }
}

function longestOf(params: readonly SqlScalar[]): string {
  let longest = ''
  for (const param of params) if (typeof param === 'string' && param.length > longest.length) longest = param
  return longest
}

function areSame(one: readonly SqlScalar[], other: readonly SqlScalar[]): boolean {
  for (let at = 0; at < one.length; at++) if (one[at] !== other[at]) return false
  return true
}

/** A row that can't be read fails the reads of its own parameters only. */
function collectRows({ sets, form }: GroupedRead, answer: PipelineAnswer): void {
  if (sets.length === 1) {
    form.learn(answer)
    sets[0]!.rows = attempt(() => answer.rows())
    return
  }
  const first: RawRow[] = []
  for (const raw of answer.raw) first[Number(raw[0]) - 1] ??= raw
  for (const [at, same] of sets.entries()) {
    const raw = first[at]
    same.rows = raw ? attempt(() => [rowOf(answer.columns, raw, 1)]) : []
  }
}

function attempt(rows: () => Row[]): Row[] | Promise<Row[]> {
  try {
    return rows()
  } catch (error) {
    return rejected(error)
  }
}

/** Nobody may wait for it yet. */
function rejected(reason: unknown): Promise<Row[]> {
  const rows = Promise.reject<Row[]>(reason instanceof Error ? reason : new Error(String(reason)))
  rows.catch(() => undefined)
  return rows
}
