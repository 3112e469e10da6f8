import { DatabaseSync, type StatementSync } from 'node:sqlite'

import { parseJson } from '../../../../base/json.ts'
import type { Json } from '../query/filter.ts'
import { entriesOf, UnindexableError, type IndexField } from './entries.ts'

const LINE_BREAK = 0x0a
/** Beyond this memory the entries are sorted on the disk. */
const CACHE_KIB = 8_000
/** A larger batch writes fewer pages, since its keys are in order, and keeps writers waiting longer. */
const ENTRIES_A_BATCH = 2_000
const BATCH_CHARACTERS = 500_000

const IS_FIRST = 1

/** What is known of the documents once all of them were read. */
export type SortedDocuments = {
  readonly documents: number
  readonly hasArrays: boolean
  readonly hasCutKeys: boolean
  /** Why the index cannot hold them. */
  readonly refused?: string
}

/** Entries in the order of their keys. */
export type EntryBatch = {
  /** JSON: of each entry the key in hexadecimal, the id of the document, its owner and `ends`. */
  readonly lines: string
  /** How many documents have their first entry in it. */
  readonly documents: number
}

type Entry = { first: number; line: string }

/**
 * Makes the entries of documents in one index and sorts them, in a temporary database that SQLite keeps on the disk and that is gone
 * with its connection. Everything in it is synchronous.
 */
export class EntrySorter {
  readonly #fields: readonly IndexField[]
  readonly #byOwner: boolean
  readonly #db = new DatabaseSync('')
  readonly #insert: StatementSync
  #rest: Uint8Array = Buffer.alloc(0)
  #sorted: Iterator<Entry> | undefined
  #ahead: Entry | undefined
  #documents = 0
  #hasArrays = false
  #hasCutKeys = false
  #refused: string | undefined

  /** @param byOwner whether entries carry the owner */
  constructor({ fields, byOwner }: { fields: readonly IndexField[]; byOwner: boolean }) {
    this.#fields = fields
    this.#byOwner = byOwner
    this.#db.exec(`
      pragma journal_mode = off;
      pragma synchronous = off;
      pragma cache_size = -${CACHE_KIB};
      create table entries (key blob, id text, owner text, ends integer);
      begin`)
    this.#insert = this.#db.prepare('insert into entries values (?, ?, ?, ?)')
  }

  /** Takes lines of JSON: the id of a document, its owner, and the fields that the index needs. A line may come in pieces. */
  add(bytes: Uint8Array): void {
    let from = 0
    for (let end; (end = bytes.indexOf(LINE_BREAK, from)) >= 0; from = end + 1) {
      const line = bytes.subarray(from, end)
      this.#addLine(this.#rest.length > 0 ? Buffer.concat([this.#rest, line]) : line)
      this.#rest = Buffer.alloc(0)
    }
    if (from < bytes.length) this.#rest = Buffer.concat([this.#rest, bytes.subarray(from)])
  }

  #addLine(line: Uint8Array): void {
    const text = Buffer.from(line.buffer, line.byteOffset, line.length).toString()
    const [id, owner, document] = parseJson(text) as [string, string, Json]
    this.#documents++
    try {
      const { entries, hasArrays, hasCutKeys } = entriesOf(document, this.#fields)
      this.#hasArrays ||= hasArrays
      this.#hasCutKeys ||= hasCutKeys
      for (const { key, ends } of entries) this.#insert.run(key, id, this.#byOwner ? owner : null, ends)
    } catch (error) {
      if (!(error instanceof UnindexableError)) throw error
      this.#refused ??= `in the document ${id} ${error.message}`
    }
  }

  /** Ends the documents: from now on `next` answers. */
  end(): SortedDocuments {
    const statement = this.#db.prepare(`
      select ends & ${IS_FIRST} as first, json_array(hex(key), id, owner, ends) as line from entries order by key, id`)
    this.#sorted = statement.iterate() as Iterator<unknown> as Iterator<Entry>
    this.#ahead = this.#read()
    return {
      documents: this.#documents,
      hasArrays: this.#hasArrays,
      hasCutKeys: this.#hasCutKeys,
      ...(this.#refused !== undefined && { refused: this.#refused }),
    }
  }

  /** The next entries; undefined at their end. */
  next(): EntryBatch | undefined {
    const lines: string[] = []
    let [documents, characters] = [0, 0]
    for (; this.#ahead; this.#ahead = this.#read()) {
      const { first, line } = this.#ahead
      characters += line.length
      if (lines.length > 0 && (lines.length === ENTRIES_A_BATCH || characters > BATCH_CHARACTERS)) break
      lines.push(line)
      documents += first
    }
    return lines.length === 0 ? undefined : { lines: `[${lines.join()}]`, documents }
  }

  #read(): Entry | undefined {
    const next = this.#sorted!.next()
    return next.done ? undefined : next.value
  }
}
