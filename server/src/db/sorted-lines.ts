import { DatabaseSync, type StatementSync } from 'node:sqlite'

/** Beyond this memory lines are sorted on the disk. */
const CACHE_KIB = 8_000

/**
 * Sorts any number of lines by their bytes, in a temporary database that SQLite keeps on the disk and that is gone with its connection.
 * Everything in it is synchronous.
 */
export class SortedLines {
  readonly #db = new DatabaseSync('')
  readonly #insert: StatementSync

  constructor() {
    this.#db.exec(`
      pragma journal_mode = off;
      pragma synchronous = off;
      pragma cache_size = -${CACHE_KIB};
      create table lines (line text);
      begin`)
    this.#insert = this.#db.prepare('insert into lines select value from json_each(?)')
  }

  /**
   * Adds the elements of an array, some hundred at once: one by one, the statement takes twice as long.
   *
   * @param json strings, or arrays and objects, of which the line is their JSON
   */
  add(json: string): void {
    this.#insert.run(json)
  }

  /** Ends the adding, and reads the lines in their order. */
  *read(): Generator<string> {
    const statement = this.#db.prepare('select line from lines order by line')
    for (const { line } of statement.iterate() as Iterator<unknown> as IteratorObject<{ line: string }>)
      yield line
  }

  close(): void {
    this.#db.close()
  }
}
