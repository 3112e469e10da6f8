import { Coalescer } from '../base/coalesce.ts'
import { GroupForm } from './postgres-groups.ts'
import type { PipelineAnswer } from './postgres-pipeline.ts'
import { textOf } from './postgres-values.ts'
import type { Insert, InsertShape, Row, SqlScalar, Statement } from './sql.ts'

// Groups of a table under way, beyond which rows wait for the next: one is written while the other is flushed.
const GROUPS = 2
const LARGEST_GROUP = 200
const GROUP_CHARACTERS = 2_000_000

type RowInsert = { readonly shape: InsertShape; readonly statement: Statement; readonly key: string }

/** Runs one statement that is a transaction of its own. */
type RunInsert = (statement: Statement) => Promise<PipelineAnswer>

/** Rows of one table that arrive together are inserted by one statement. One that fails takes no other with it. */
export class InsertGroups {
  readonly #run: RunInsert
  readonly #isRolledBack: (error: unknown) => boolean
  readonly #forms = new Map<InsertShape, GroupForm>()
  readonly #inserts = new Coalescer<RowInsert, Row[]>({
    answer: (group) => this.#insert(group),
    laneOf: ({ shape }) => shape,
    groups: GROUPS,
    // Until the types of the columns are known, a row goes alone.
    largest: ({ shape }) => (this.#formOf(shape).isKnown ? LARGEST_GROUP : 1),
    heaviest: GROUP_CHARACTERS,
    weightOf: ({ statement }) => charactersOf(statement.params),
    // Rows that are inserted are told apart by it.
    keyOf: ({ key }) => key,
  })

  /** @param isRolledBack whether an error of `run` means that nothing was written, and another try may help */
  constructor(run: RunInsert, isRolledBack: (error: unknown) => boolean) {
    this.#run = run
    this.#isRolledBack = isRolledBack
  }

  write(insert: Insert<unknown>): Promise<Row[]> {
    const { shape } = insert
    const statement = insert.render('postgres')
    const key = keyOf(shape.key.map((column) => statement.params[shape.columns.indexOf(column)]!))
    return this.#inserts.call({ shape, statement, key })
  }

  /** Resolves when no row waits or is being written. */
  idle(): Promise<void> {
    return this.#inserts.idle()
  }

  #formOf(shape: InsertShape): GroupForm {
    let form = this.#forms.get(shape)
    if (!form) this.#forms.set(shape, (form = GroupForm.insert(shape)))
    return form
  }

  async #insert(group: readonly RowInsert[]): Promise<readonly (Row[] | Promise<Row[]>)[]> {
    const { shape } = group[0]!
    const form = this.#formOf(shape)
    const insertAlone = async ({ statement }: RowInsert): Promise<Row[]> => {
      const answer = await this.#run(statement)
      form.learn(answer)
      return answer.rows()
    }
    const together =
      group.length > 1 ? form.statement(group.map(({ statement }) => statement.params)) : undefined
    if (!together) return group.map(insertAlone)
    try {
      const answer = await this.#run(together)
      // Each of them, because their keys differ.
      if (answer.count === group.length) return group.map(({ statement }) => [keyRowOf(shape, statement)])
      const inserted = new Map(answer.rows().map((row) => [keyOf(shape.key.map((name) => row[name]!)), row]))
      return group.map(({ key }) => (inserted.has(key) ? [inserted.get(key)!] : []))
    } catch (error) {
      if (this.#isRolledBack(error)) return group.map(insertAlone)
      throw error
    }
  }
}

/** The row that the statement answers if it inserts one. */
const keyRowOf = ({ key, columns }: InsertShape, { params }: Statement): Row =>
  Object.fromEntries(key.map((column) => [column, params[columns.indexOf(column)]!]))

const keyOf = (values: readonly SqlScalar[]): string => JSON.stringify(values.map(textOf))

const charactersOf = (params: readonly SqlScalar[]): number =>
  params.reduce<number>((sum, param) => sum + (typeof param === 'string' ? param.length : 0), 0)
