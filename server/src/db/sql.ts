import { errors } from '../base/errors.ts'

/** A value that can be bound to a statement. Integers beyond 2^53 are bigint; bytes are stored as text. */
export type SqlScalar = string | number | bigint | null

/**
 * Columns come back as text, numbers or null, true and false as 1 and 0, and anything else as the text that the
 * engine writes. Reading an integer beyond 2^53 throws: cast it to text.
 */
export type Row = Record<string, SqlScalar>

export type Dialect = 'sqlite' | 'postgres'

/** A statement in the SQL of one engine, ready to run. */
export type Statement = {
  readonly text: string
  readonly params: SqlScalar[]
  /** See `sql.once`. */
  readonly isOnce?: true
  /** See `sql.inOrder`. */
  readonly isInOrder?: true
  /** See `sql.forEach`. */
  readonly rows?: readonly SqlScalar[][]
  /** See `sql.gathering`. */
  readonly gathered?: Gathered
}

/** Rows that are read into the temporary table `gathered`. */
type Gathered = {
  readonly text: string
  readonly params: SqlScalar[]
  /** How many are enough. */
  readonly most: number
}

type Part = SqlScalar | Sql<unknown> | Choice

type Pieces = Readonly<Record<Dialect, Sql>>

/** SQL that differs between the engines. */
class Choice {
  declare readonly pieces: Pieces
  constructor(pieces: Pieces) {
    this.pieces = pieces
  }
}

/**
 * SQL with its bound values. The text is from the source code only; values are never part of it.
 *
 * @typeParam R the rows that it returns
 */
export class Sql<R = Row> {
  declare readonly row: R
  declare readonly strings: readonly string[]
  declare readonly parts: readonly Part[]
  constructor(strings: readonly string[], parts: readonly Part[]) {
    this.strings = strings
    this.parts = parts
  }

  /**
   * The statement for one engine, with the placeholders `?` on SQLite and `$1` on PostgreSQL.
   *
   * @throws VALIDATION_ERROR for text with U+0000 or a lone surrogate, which an engine cannot store
   * @throws TypeError for a value that is not an `SqlScalar`, or NaN
   */
  render(dialect: Dialect): Statement {
    const params: SqlScalar[] = []
    return { text: write(this, dialect, params), params }
  }

  /** The statement of PostgreSQL with another expression in place of each parameter, numbered from 1. */
  renderWith(placeholder: (n: number) => string): string {
    return write(this, 'postgres', [], placeholder)
  }
}

/** A statement that is not worth remembering. See `sql.once`. */
class Once<R = Row> extends Sql<R> {
  override render(dialect: Dialect): Statement {
    return { ...super.render(dialect), isOnce: true }
  }
}

/** The first rows of an index. See `sql.inOrder`. */
class InOrder<R = Row> extends Sql<R> {
  override render(dialect: Dialect): Statement {
    return dialect === 'sqlite' ? super.render(dialect) : { ...super.render(dialect), isInOrder: true }
  }
}

/** A statement that runs once for each of many rows of values. See `sql.forEach`. */
class ForEach extends Sql {
  readonly #rows: readonly SqlScalar[][]
  constructor(text: string, rows: readonly SqlScalar[][]) {
    super([text], [])
    this.#rows = rows
  }
  override render(dialect: Dialect): Statement {
    if (dialect === 'postgres') throw new TypeError('sql.forEach is for SQLite: pass all rows as one value')
    return { ...super.render(dialect), rows: this.#rows.map((row) => row.map(checked)) }
  }
}

/** A scan of rows that are gathered before. See `sql.gathering`. */
class Gathering<R = Row> extends Sql<R> {
  readonly #rows: Sql
  readonly #most: number
  constructor({ strings, parts }: Sql<R>, rows: Sql, most: number) {
    super(strings, parts)
    this.#rows = rows
    this.#most = most
  }
  override render(dialect: Dialect): Statement {
    return { ...super.render(dialect), gathered: { ...this.#rows.render(dialect), most: this.#most } }
  }
}

/** An insert of a row unless its key exists; inserts into one table can run as one statement. See `sql.insert`. */
export class Insert<R = Row> extends Sql<R> {
  readonly shape: InsertShape
  constructor(shape: InsertShape, values: readonly SqlScalar[]) {
    super(shape.strings, values)
    this.shape = shape
  }
}

/** The table and columns of inserts that can run as one statement. */
export type InsertShape = {
  readonly table: string
  readonly columns: readonly string[]
  readonly key: readonly string[]
  readonly strings: TemplateStringsArray
}

const shapes = new Map<string, InsertShape>()

function shapeOf(table: string, columns: readonly string[], key: readonly string[]): InsertShape {
  const name = `${table} (${columns.join()}) ${key.join()}`
  let shape = shapes.get(name)
  if (!shape) {
    const unknown = key.find((column) => !columns.includes(column))
    if (unknown !== undefined)
      throw new TypeError(`sql.insert into ${table}: no value for ${unknown} of the key`)
    const strings = [
      `insert into ${table} (${columns.join(', ')}) values (`,
      ...Array.from({ length: columns.length - 1 }, () => ', '),
      `) on conflict (${key.join(', ')}) do nothing returning ${key.join(', ')}`,
    ]
    shape = { table, columns, key, strings: Object.assign(strings, { raw: strings }) }
    shapes.set(name, shape)
  }
  return shape
}

// Written without pieces, a template of the source always renders to the same text, so that is built once.
const known: Record<Dialect, WeakMap<readonly string[], string>> = {
  sqlite: new WeakMap(),
  postgres: new WeakMap(),
}

const isPiece = (part: Part): part is Sql<unknown> | Choice => part instanceof Sql || part instanceof Choice

/** PostgreSQL refuses U+0000, SQLite's functions end at it, and UTF-8 has no lone surrogates. */
function checked(value: SqlScalar): SqlScalar {
  if (typeof value === 'string') {
    if (value.includes('\0') || !value.isWellFormed())
      throw errors.validation_error({
        message:
          'The request holds text that cannot be kept: leave out U+0000 and halves of surrogate pairs.',
      })
  } else if (typeof value === 'number' ? Number.isNaN(value) : typeof value !== 'bigint' && value !== null)
    throw new TypeError(`SQL takes text, numbers, bigints and null as values, not ${String(value)}`)
  return value
}

function write(
  query: Sql<unknown>,
  dialect: Dialect,
  params: SqlScalar[],
  placeholder?: (n: number) => string,
): string {
  const { strings, parts } = query
  // What is an object and no piece is refused below.
  const hasPieces = parts.some((part) => typeof part === 'object' && part !== null)
  const same = params.length === 0 && placeholder === undefined && !hasPieces
  const text = same ? known[dialect].get(strings) : undefined
  if (text !== undefined) {
    for (const part of parts) params.push(checked(part as SqlScalar))
    return text
  }
  let built = strings[0]!
  for (let i = 0; i < parts.length; i++) {
    const part = parts[i]!
    if (isPiece(part))
      built += write(part instanceof Choice ? part.pieces[dialect] : part, dialect, params, placeholder)
    else {
      params.push(checked(part))
      if (placeholder) built += placeholder(params.length)
      else built += dialect === 'sqlite' ? '?' : `$${params.length}`
    }
    built += strings[i + 1]!
  }
  if (same && 'raw' in strings) known[dialect].set(strings, built)
  return built
}

/**
 * Makes SQL from a template. Values are bound as parameters; templates can be nested.
 *
 * @typeParam R the rows that the statement returns
 * @example sql<{ body: string }>`select body from documents where collection = ${name} and id = ${id}`
 */
export function sql<R = Row>(strings: TemplateStringsArray, ...parts: Part[]): Sql<R> {
  return new Sql(strings, parts)
}

/**
 * Inserts a row unless one with its key exists. Returns the columns of the key if it was inserted, and no row if not.
 * On PostgreSQL, calls of `db.write` that arrive together for the same table and columns run as one statement.
 *
 * @param table the name of a table. It and the names of the columns in `row` must be from the source code
 * @param key columns of the primary key or of a unique index; their values are text
 * @example db.write(sql.insert('store_documents', { collection, id, body }, ['collection', 'id']))
 */
sql.insert = <K extends string, const C extends K>(
  table: string,
  row: Readonly<Record<K, SqlScalar>>,
  key: readonly C[],
): Insert<Record<C, string>> =>
  new Insert(shapeOf(table, Object.keys(row), key), Object.values<SqlScalar>(row))

/** SQL that differs between the engines. */
sql.either = (pieces: Pieces): Choice => new Choice(pieces)

/** Joins values or templates with a separator. */
sql.join = (parts: readonly Part[], separator = ', '): Sql =>
  parts.length === 0
    ? new Sql([''], [])
    : new Sql(['', ...Array.from({ length: parts.length - 1 }, () => separator), ''], parts)

/**
 * A condition of `where` at whose rows a scan can be stopped. For the whole of what a scan filters by, not for what an
 * index is searched by. Costs 60 ns a row on SQLite, and nothing on PostgreSQL.
 *
 * @param unless which rows are so quickly examined that it may go on to the next one first; 20 ns
 */
sql.stoppable = (condition: Sql, unless?: Sql): Choice => {
  const tick = unless ? sql`(${unless} or sixwire_tick())` : sql`sixwire_tick()`
  return sql.either({ sqlite: sql`(${tick} and (${condition}))`, postgres: condition })
}

/**
 * A statement whose text depends on what a client asks. PostgreSQL keeps the plans of the first 500 texts only, so such
 * texts, which have no end, must not be among them.
 */
sql.once = <R>(query: Sql<R>): Sql<R> => new Once(query.strings, query.parts)

/**
 * A page of rows that an index has in the order of the page. Where PostgreSQL takes them for few, because the table grew since
 * it was analyzed or the value is new, it would read all of them and sort them: 23 ms for 20,000.
 */
sql.inOrder = <R>(query: Sql<R>): Sql<R> => new InOrder(query.strings, query.parts)

/**
 * A scan on SQLite of rows that call functions, of however many documents: they are read into the temporary table `gathered`
 * first, at the same moment. Node keeps the arguments of functions until a statement answers a row, so `sixwire_pass` lets a
 * row through now and then that does not match. In a snapshot the table is there until its end, for what is read behind it.
 *
 * @param rows their last column, which the table does not have, tells whether they match
 * @param most how many matching rows are enough
 */
sql.gathering = <R>(query: Sql<R>, rows: Sql, most = Infinity): Sql<R> => new Gathering(query, rows, most)

/**
 * A write on SQLite that runs once for each row of values, bound as `?1`, `?2` and so on: a third of what it costs there to
 * read the rows from JSON. On PostgreSQL one statement is better.
 *
 * @param text must be from the source code
 */
sql.forEach = (text: string, rows: readonly SqlScalar[][]): Sql => new ForEach(text, rows)

/** Text that is used as SQL unchanged. It must be from the source code. */
sql.literal = (text: string): Sql => new Sql([text], [])

/** `for update skip locked` on PostgreSQL. SQLite has one writer and needs no locks. */
sql.skipLocked = sql.either({ sqlite: sql.literal(''), postgres: sql.literal('for update skip locked') })

/** `for update` on PostgreSQL: no other transaction changes or locks these rows until this one ends. SQLite needs no locks. */
sql.forUpdate = sql.either({ sqlite: sql.literal(''), postgres: sql.literal('for update') })

/** `for share` on PostgreSQL: these rows do not change until the transaction ends. SQLite needs no locks. */
sql.sharedLock = sql.either({ sqlite: sql.literal(''), postgres: sql.literal('for share') })

/** The same SQL for one engine without templates in it, for what is rendered again and again. */
sql.flat = <R>(query: Sql<R>, dialect: Dialect): Sql<R> => {
  const strings = ['']
  const scalars: SqlScalar[] = []
  appendFlat(query, dialect, strings, scalars)
  return new Sql(strings, scalars)
}

function appendFlat(
  { strings: texts, parts }: Sql<unknown>,
  dialect: Dialect,
  strings: string[],
  scalars: SqlScalar[],
): void {
  for (const [i, text] of texts.entries()) {
    strings[strings.length - 1] += text
    if (i === parts.length) return
    const part = parts[i]!
    if (isPiece(part))
      appendFlat(part instanceof Choice ? part.pieces[dialect] : part, dialect, strings, scalars)
    else {
      // Checked when it is rendered, as every value is.
      scalars.push(part)
      strings.push('')
    }
  }
}
