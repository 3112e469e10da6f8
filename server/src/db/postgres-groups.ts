import type { PipelineAnswer } from './postgres-pipeline.ts'
import { arrayOf, typeNames } from './postgres-values.ts'
import type { SqlScalar, Statement } from './sql.ts'

/** Alias of the relation that holds the parameters of statements that run as one; no statement has a table of that name. */
const SETS = 'parameter_sets'

/** The expression that stands in a grouped statement where the nth parameter stood. */
export const setColumn = (n: number): string => `${SETS}.p${n}`

/** `unnest(…)` of one array for each parameter, which has as many rows as there are sets of parameters. */
const setsOf = (types: readonly string[]): string =>
  `unnest(${types.map((type, at) => `$${at + 1}::${type}[]`).join(', ')})`

const columnsOf = (types: readonly string[]): string => types.map((_, at) => `p${at + 1}`).join(', ')

/** One array for each parameter. */
export const transposed = (sets: readonly (readonly SqlScalar[])[]): string[] =>
  sets[0]!.map((_, at) => arrayOf(sets.map((set) => set[at]!)))

/**
 * A query over several sets of parameters: the position of the set, from 1, and behind it the columns of the query.
 * `offset 0` keeps the planner from joining in another way than looking each set up.
 */
const readText = (query: string, types: readonly string[]): string =>
  `select ${SETS}.place, answers.* from ${setsOf(types)} with ordinality as ${SETS} (${columnsOf(types)}, place)
cross join lateral (select * from (
${query}
) as answer offset 0) as answers`

const insertText = (
  { table, columns, key }: { table: string; columns: readonly string[]; key: readonly string[] },
  types: readonly string[],
): string =>
  `insert into ${table} (${columns.join(', ')}) select ${columnsOf(types)} from ${setsOf(types)} as ${SETS} (${columnsOf(types)})
on conflict (${key.join(', ')}) do nothing returning ${key.join(', ')}`

/**
 * The form of a statement that takes many sets of parameters. The types of its parameters are those that the server
 * found for the statement alone, so that grouping it changes nothing: they are known once it has run.
 */
export class GroupForm {
  readonly #textFor: (types: readonly string[]) => string
  #text: string | undefined
  #isKnown = false

  constructor(textFor: (types: readonly string[]) => string) {
    this.#textFor = textFor
  }

  static read = (query: () => string): GroupForm => new GroupForm((types) => readText(query(), types))
  static insert = (shape: Parameters<typeof insertText>[0]): GroupForm =>
    new GroupForm((types) => insertText(shape, types))

  /** Whether the statement has still to run alone before it is known whether it can be grouped. */
  get isKnown(): boolean {
    return this.#isKnown
  }

  /** Notes what the server said of the statement when it ran alone. */
  learn({ parameterTypes }: PipelineAnswer): void {
    if (this.#isKnown) return
    this.#isKnown = true
    const types = typeNames(parameterTypes)
    if (types && types.length > 0) this.#text = this.#textFor(types)
  }

  /** Never groups the statement again. */
  giveUp(): void {
    this.#isKnown = true
    this.#text = undefined
  }

  /** One statement for all sets; undefined if they have to run each for itself. */
  statement(sets: readonly (readonly SqlScalar[])[]): Statement | undefined {
    return this.#text === undefined ? undefined : { text: this.#text, params: transposed(sets) }
  }
}
