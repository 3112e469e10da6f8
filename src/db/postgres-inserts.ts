import { GroupForm } from './postgres-groups.ts'
import type { PipelineAnswer } from './postgres-pipeline.ts'
import { TurnQueue } from './turn-queue.ts'
import { textOf } from './postgres-values.ts'
import type { Insert, InsertShape, Row, SqlScalar, Statement } from './sql.ts'

// Groups of a table under way, beyond which rows wait for the next: one is written while the other is flushed.
const GROUPS = 2
const LARGEST_GROUP = 200
const GROUP_CHARACTERS = 2_000_000

type Waiting = {
  readonly insert: Insert<unknown>
  readonly statement: Statement
  readonly key: string
  readonly resolve: (rows: Row[]) => void
  readonly reject: (error: unknown) => void
}

/** Runs one statement that is a transaction of its own. */
type RunInsert = (statement: Statement) => Promise<PipelineAnswer>

/** Rows of one table that arrive together are inserted by one statement. One that fails takes no other with it. */
export class InsertGroups {
  readonly #run: RunInsert
  readonly #isRolledBack: (error: unknown) => boolean
  readonly #tables = new Map<InsertShape, Table>()

  /** @param isRolledBack whether an error of `run` means that nothing was written, and another try may help */
  constructor(run: RunInsert, isRolledBack: (error: unknown) => boolean) {
    this.#run = run
    this.#isRolledBack = isRolledBack
  }

  write(insert: Insert<unknown>): Promise<Row[]> {
    let table = this.#tables.get(insert.shape)
    if (!table)
      this.#tables.set(insert.shape, (table = new Table(insert.shape, this.#run, this.#isRolledBack)))
    return table.write(insert)
  }

  /** Resolves when no row waits or is being written. */
  async idle(): Promise<void> {
    await Promise.all([...this.#tables.values()].map((table) => table.idle()))
  }
}

class Table {
  readonly #shape: InsertShape
  readonly #run: RunInsert
  readonly #isRolledBack: (error: unknown) => boolean
  readonly #form: GroupForm
  readonly #keyAt: readonly number[]
  readonly #queue: TurnQueue<Waiting> = new TurnQueue(
    () => this.#queue.underWay.size < GROUPS,
    () => this.#insert(this.#take()),
  )

  constructor(shape: InsertShape, run: RunInsert, isRolledBack: (error: unknown) => boolean) {
    this.#shape = shape
    this.#run = run
    this.#isRolledBack = isRolledBack
    this.#form = GroupForm.insert(shape)
    this.#keyAt = shape.key.map((column) => shape.columns.indexOf(column))
  }

  write(insert: Insert<unknown>): Promise<Row[]> {
    const statement = insert.render('postgres')
    const key = keyOf(this.#keyAt.map((at) => statement.params[at]!))
    return new Promise((resolve, reject) => {
      this.#queue.push({ insert, statement, key, resolve, reject })
    })
  }

  idle(): Promise<void> {
    return this.#queue.idle()
  }

  /** The next rows, in order of arrival. Two of the same key never go together, since they are told apart by it. */
  #take(): Waiting[] {
    // Until the types of the columns are known, a row goes alone.
    const most = this.#form.isKnown ? LARGEST_GROUP : 1
    const keys = new Set<string>()
    let characters = 0
    let size = 0
    for (const { key, statement } of this.#queue.waiting) {
      if (size >= most || characters > GROUP_CHARACTERS || keys.has(key)) break
      keys.add(key)
      for (const param of statement.params) if (typeof param === 'string') characters += param.length
      size++
    }
    return this.#queue.waiting.splice(0, size)
  }

  async #insert(group: readonly Waiting[]): Promise<void> {
    const together =
      group.length > 1 ? this.#form.statement(group.map(({ statement }) => statement.params)) : undefined
    if (!together) return this.#insertEach(group)
    try {
      const answer = await this.#run(together)
      const rows = answer.rows()
      const inserted = new Map(rows.map((row) => [keyOf(this.#shape.key.map((name) => row[name]!)), row]))
      for (const { key, resolve } of group) {
        const row = inserted.get(key)
        resolve(row ? [row] : [])
      }
    } catch (error) {
      if (this.#isRolledBack(error)) return this.#insertEach(group)
      for (const { reject } of group) reject(error)
    }
  }

  async #insertEach(group: readonly Waiting[]): Promise<void> {
    await Promise.all(
      group.map(async ({ statement, resolve, reject }) => {
        try {
          const answer = await this.#run(statement)
          this.#form.learn(answer)
          resolve(answer.rows())
        } catch (error) {
          reject(error)
        }
      }),
    )
  }
}

const keyOf = (values: readonly SqlScalar[]): string => JSON.stringify(values.map(textOf))
