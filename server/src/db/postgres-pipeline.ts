import type pg from 'pg'

import { columnOf, rowOf, textOf, type Column, type RawRow } from './postgres-values.ts'
import type { Row, Statement } from './sql.ts'

/** A statement under the name that the server keeps its plan by; without one it is planned each time. */
export type NamedStatement = Statement & { readonly name: string | undefined }

/** What a statement answered. */
export class PipelineAnswer {
  readonly columns: readonly Column[]
  readonly raw: readonly RawRow[]
  /** The rows that it changed or answered. */
  readonly count: number
  /** The types of its parameters. */
  readonly parameterTypes: readonly number[]

  constructor({ columns, parameterTypes }: Description, raw: readonly RawRow[], count: number) {
    this.columns = columns
    this.parameterTypes = parameterTypes
    this.raw = raw
    this.count = count
  }

  /** Its rows; of a statement that returns none an empty row if it changed something. */
  rows(): Row[] {
    if (this.columns.length > 0) return this.raw.map((row) => rowOf(this.columns, row))
    return this.count > 0 ? [{}] : []
  }
}

/** What the server says of a statement before it runs. */
type Description = { columns: readonly Column[]; parameterTypes: readonly number[] }

type Field = { name: string; dataTypeID: number }

// The methods of `pg` that write messages of the protocol, as `pg-cursor` uses them; @types/pg has older signatures.
type Connection = {
  stream: { cork(): void; uncork(): void }
  parse(message: { name: string; text: string }): void
  describe(message: { type: 'S'; name: string }): void
  close(message: { type: 'S'; name: string }): void
  bind(message: { statement: string; values: unknown[]; valueMapper: typeof textOf }): void
  execute(message?: undefined): void
  sync(): void
  sendCopyFail(text: string): void
  on(event: 'parameterDescription', listen: (message: { dataTypeIDs: number[] }) => void): void
  off(event: 'parameterDescription', listen: (message: { dataTypeIDs: number[] }) => void): void
}

/** The statements that a connection has prepared; `undefined` where only the server knows whether it has. */
const prepared = new WeakMap<Connection, Map<string, Description | undefined>>()

/**
 * Statements that are sent at once and answered in order: one round trip, however many there are.
 * They are one transaction, because there is one Sync: the server commits when it reads that, and if a statement fails
 * it undoes those before and skips those after.
 * https://www.postgresql.org/docs/current/protocol-flow.html#PROTOCOL-FLOW-PIPELINING
 */
export class Pipeline {
  /** Replaced by `pg`, for its timeout. */
  callback: (error: Error | null, answers?: PipelineAnswer[]) => void
  /** For `pg`: how long to wait for the answers, instead of what the pool says. */
  query_timeout: number | undefined
  readonly #statements: readonly NamedStatement[]
  readonly #answers: PipelineAnswer[] = []
  #connection: Connection | undefined
  #known!: Map<string, Description | undefined>
  #description: { columns: readonly Column[]; parameterTypes: readonly number[] } | undefined
  #raw: RawRow[] = []

  constructor(
    statements: readonly NamedStatement[],
    callback: (error: Error | null, answers?: PipelineAnswer[]) => void,
  ) {
    this.#statements = statements
    this.callback = callback
  }

  /** How many statements were answered. Once all are, the server may have committed. */
  get answered(): number {
    return this.#answers.length
  }

  /** Called by `pg` when the connection is free. */
  submit(connection: pg.Connection): void {
    const own = connection as unknown as Connection
    this.#connection = own
    const descriptions = prepared.get(own) ?? new Map<string, Description | undefined>()
    prepared.set(own, descriptions)
    this.#known = descriptions
    own.stream.cork()
    try {
      let describes = false
      const parsed = new Set<string>()
      for (const { name = '', text, params } of this.#statements) {
        if (!parsed.has(name) && (name === '' || descriptions.get(name) === undefined)) {
          // Where its preparation may have failed: to close what does not exist is no error.
          if (descriptions.has(name)) own.close({ type: 'S', name })
          if (name !== '') {
            descriptions.set(name, undefined)
            parsed.add(name)
          }
          own.parse({ name, text })
          own.describe({ type: 'S', name })
          describes = true
        }
        own.bind({ statement: name, values: params, valueMapper: textOf })
        own.execute()
      }
      own.sync()
      if (describes) own.on('parameterDescription', this.#handleParameterDescription)
    } finally {
      own.stream.uncork()
    }
  }

  readonly #handleParameterDescription = ({ dataTypeIDs }: { dataTypeIDs: number[] }): void => {
    this.#description = { columns: [], parameterTypes: dataTypeIDs }
  }

  handleRowDescription({ fields }: { fields: Field[] }): void {
    const { parameterTypes = [] } = this.#description ?? {}
    this.#description = {
      columns: fields.map(({ name, dataTypeID }) => columnOf(name, dataTypeID)),
      parameterTypes,
    }
  }

  handleDataRow({ fields }: { fields: RawRow }): void {
    this.#raw.push(fields)
  }

  handleCommandComplete({ text }: { text: string }): void {
    const { name } = this.#statements[this.#answers.length]!
    const described = this.#description
    if (described && name !== undefined) this.#known.set(name, described)
    const description = described ?? this.#known.get(name ?? '')!
    this.#answers.push(new PipelineAnswer(description, this.#raw, Number(/\d+$/.exec(text)?.[0] ?? 0)))
    this.#raw = []
    this.#description = undefined
  }

  handleEmptyQuery(): void {
    this.handleCommandComplete({ text: '' })
  }

  handlePortalSuspended(): void {}

  handleCopyInResponse(connection: pg.Connection): void {
    ;(connection as unknown as Connection).sendCopyFail('COPY is not supported')
  }

  handleCopyData(): void {}

  handleError(error: Error): void {
    this.#end()
    this.callback(error)
  }

  handleReadyForQuery(): void {
    this.#end()
    this.callback(null, this.#answers)
  }

  #end(): void {
    this.#connection?.off('parameterDescription', this.#handleParameterDescription)
  }
}
