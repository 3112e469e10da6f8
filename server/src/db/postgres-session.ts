import type pg from 'pg'

import { errors } from '../base/errors.ts'
import { cancelStatement } from './postgres-cancel.ts'
import { isPooled, localSettings, statementLimitOf } from './postgres-connection.ts'
import { errorOf, isFromServer, kindOf, type Kind } from './postgres-faults.ts'
import { Pipeline, type PipelineAnswer, type NamedStatement } from './postgres-pipeline.ts'
import type { PostgresWatchdog } from './postgres-watchdog.ts'
import type { Statement } from './sql.ts'

const NAMED_STATEMENTS = 500
// As many as SQLite takes. The server takes twice as many, but for more than 32,767 `pg` reads a negative number, and throws
// where nobody can catch it.
const VALUES_MAX = 32_766
// The server ends a statement by itself first, if it is not gone without a word.
const SILENCE_MARGIN_MS = 5_000
const CANCEL_AGAIN_MS = 500

/** Sets how long each of the statements behind it may take, to the end of their transaction. */
const setLimit = (limitMs: number): Statement => ({
  text: `select set_config('statement_timeout', $1, true)`,
  params: [String(limitMs)],
})

/**
 * For a statement that looks into many rows, to the end of its transaction, so that it works behind a pooler. Compiling it
 * takes longer than it saves; and the planner, which takes a look into a document for as quick as a comparison of numbers,
 * would start workers for much larger tables only. A page costs as on an SSD: else it looks into the documents of all
 * collections where an index finds those of one.
 */
const planScan: Statement = {
  text: `select set_config('jit', 'off', true), set_config('parallel_setup_cost', '100', true),
    set_config('random_page_cost', '1.1', true)`,
  params: [],
}

/** For one beside which others wait: its workers would take the processors that other requests need. */
const withoutWorkers: Statement = {
  text: `select set_config('max_parallel_workers_per_gather', '0', true)`,
  params: [],
}

const unnamed = (statement: Statement): NamedStatement => ({ ...statement, name: undefined })

/** Statements that come again keep a name, under which the server remembers their plan. */
export class StatementNames {
  readonly #names = new Map<string, string>()
  #made = 0

  of({ text, params, isOnce }: Statement): NamedStatement {
    let name = this.#names.get(text)
    if (name === undefined && !isOnce && this.#names.size < NAMED_STATEMENTS) {
      name = `s${this.#made++}`
      this.#names.set(text, name)
    }
    return { name, text, params }
  }

  /** The next time the statement is planned again, on every connection. */
  forget(text: string): void {
    this.#names.delete(text)
  }
}

/** A connection out of the pool for one use, which remembers what went wrong with it. */
export class PostgresSession {
  readonly #pool: pg.Pool
  readonly #names: StatementNames
  readonly #watchdog: PostgresWatchdog
  #client: pg.PoolClient | undefined
  #isSpoilt = false
  /** `begin …` with its settings, until they are sent in front of the first statement. */
  #begin: readonly Statement[] = []
  #isInTransaction = false
  /** The server's limit of a statement, where it is not that of the pool. */
  #limitMs: number | undefined
  /** What the first fault means; undefined if there was none. */
  fault: Kind | undefined
  /** How many statements were answered before the one that failed. */
  failedAt: number | undefined
  /** Whether the commit of what was sent last may have happened though it was not answered. */
  mayHaveCommitted = false

  constructor(pool: pg.Pool, names: StatementNames, watchdog: PostgresWatchdog) {
    this.#pool = pool
    this.#names = names
    this.#watchdog = watchdog
  }

  async open(): Promise<void> {
    try {
      this.#client = await this.#pool.connect()
    } catch (error) {
      this.fault = kindOf(error)
      throw errors.unavailable({ retryAfter: 1, cause: error })
    }
  }

  /**
   * Sends statements in one round trip. Outside of a transaction that was begun they are one themselves:
   * all of them are committed or none.
   */
  async run(statements: readonly Statement[]): Promise<PipelineAnswer[]> {
    const first = this.#begin
    this.#begin = []
    const nameOf = isPooled(this.#client!) ? unnamed : (statement: Statement) => this.#names.of(statement)
    const named = statements.map(nameOf)
    if (this.#isInTransaction) return this.#send([], named, 'never')
    if (first.length === 0) return this.#send(this.#settings, named, 'last')
    this.#isInTransaction = true
    return this.#send(first, named, 'never')
  }

  /** What a transaction begins with. */
  get #settings(): readonly Statement[] {
    return isPooled(this.#client!) ? [localSettings] : []
  }

  /**
   * A statement that looks into many rows and is not worth a name; it is cancelled when the signal aborts.
   *
   * @param options.limitMs the server's own limit instead of what the pool says
   */
  async runUntil(
    stop: AbortSignal,
    statement: Statement,
    { limitMs, hasWorkers }: { limitMs?: number | undefined; hasWorkers: boolean },
  ): Promise<PipelineAnswer> {
    stop.throwIfAborted()
    let again: NodeJS.Timeout | undefined
    // One that arrives before the statement begins cancels nothing.
    const ask = (): void => {
      void cancelStatement(this.#client!, this.#pool.options)
      again = setTimeout(ask, CANCEL_AGAIN_MS)
    }
    const cancel = (): void => {
      this.spoil()
      ask()
    }
    stop.addEventListener('abort', cancel)
    try {
      const first = [...this.#settings, planScan]
      if (!hasWorkers) first.push(withoutWorkers)
      if (limitMs !== undefined) first.push(setLimit(limitMs))
      this.#limitMs = limitMs
      return (await this.#send(first, [unnamed(statement)], 'last'))[0]!
    } finally {
      stop.removeEventListener('abort', cancel)
      clearTimeout(again)
    }
  }

  /**
   * Begins a transaction, in the round trip of its first statement.
   *
   * @param limitMs how long its statements may take instead of what the pool says; a pause between them may not: this
   *   process is stopped then, and the locks make others wait
   */
  begin(text: string, limitMs?: number): void {
    this.#begin = [{ text, params: [] }, ...this.#settings]
    if (limitMs === undefined) return
    this.#begin = [...this.#begin, setLimit(limitMs)]
    this.#limitMs = limitMs
  }

  /** Ends the transaction that was begun, if any statement ran in it. */
  async end(text: 'commit' | 'rollback'): Promise<void> {
    if (!this.#isInTransaction) return
    this.#isInTransaction = false
    await this.#send([], [unnamed({ text, params: [] })], text === 'commit' ? 'within' : 'never')
  }

  /**
   * @param first sent before the others without a name; their answers are left out
   * @param commits after the last statement, within the only one, or not by these statements
   */
  #send(
    first: readonly Statement[],
    statements: readonly NamedStatement[],
    commits: 'last' | 'within' | 'never',
  ): Promise<PipelineAnswer[]> {
    if (statements.some(({ params }) => params.length > VALUES_MAX))
      return Promise.reject(new RangeError(`A statement has at most ${VALUES_MAX} values.`))
    this.mayHaveCommitted = commits !== 'never'
    const sentAt = performance.now()
    const sent = [...first.map(unnamed), ...statements]
    const answered = this.#watchdog.watch(this.#client!)
    return new Promise((resolve, reject) => {
      const pipeline = new Pipeline(sent, (error, answers) => {
        answered()
        if (!error) resolve(answers!.slice(first.length))
        else reject(this.#failure(error, statements, pipeline.answered - first.length, sentAt))
        // The server answered a statement by an error, so it did not come to the commit after the last.
        if (error && commits === 'last' && isFromServer(error) && pipeline.answered < sent.length)
          this.mayHaveCommitted = false
      })
      if (this.#limitMs !== undefined) pipeline.query_timeout = this.#limitMs + SILENCE_MARGIN_MS
      this.#client!.query(pipeline)
    })
  }

  #failure(error: Error, statements: readonly Statement[], answered: number, sentAt: number): Error {
    const kind = kindOf(error)
    this.fault ??= kind
    this.failedAt = answered
    if (kind === 'lost' || kind === 'silent' || kind === 'stale') this.#isSpoilt = true
    if (kind === 'stale') for (const { text } of statements) this.#names.forget(text)
    return errorOf(error, performance.now() - sentAt >= (this.#limitMs ?? statementLimitOf(this.#client!)))
  }

  /** Whether the connection can still be asked something. */
  get usable(): boolean {
    return this.#client !== undefined && !this.#isSpoilt
  }

  /** Takes the connection out of use, with whatever the server still does on it. */
  spoil(): void {
    this.#isSpoilt = true
  }

  /** Gives the connection back, unless it is lost. */
  release(): void {
    this.#client?.release(this.#isSpoilt)
  }
}
