import { parseJson } from '../../../../../base/json.ts'
import { SortedLines } from '../../../../../db/sorted-lines.ts'
import type { Json } from '../../language/query/filter.ts'
import { entriesOf, UnindexableError, type EntryRules } from '../entries/entries.ts'

const LINE_BREAK = 0x0a
/** A larger batch writes fewer pages, since its keys are in order, and keeps writers waiting longer. */
const ENTRIES_A_BATCH = 1_000
const BATCH_CHARACTERS = 500_000

/** The rules of the index, and whether its entries carry the owner. */
export type SorterRules = EntryRules & { readonly byOwner: boolean }

/** What is known of the documents once all of them were read. */
export type SortedDocuments = {
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

// The first entry of a document, or its only one.
const IS_FIRST = /,[13]\]$/

/** Makes the entries of documents in one index and sorts them. Everything in it is synchronous. */
export class EntrySorter {
  readonly #rules: EntryRules
  readonly #byOwner: boolean
  readonly #lines = new SortedLines()
  #rest: Uint8Array = Buffer.alloc(0)
  #sorted: Iterator<string> | undefined
  #ahead: string | undefined
  #hasArrays = false
  #hasCutKeys = false
  #refused: string | undefined

  constructor(rules: SorterRules) {
    this.#rules = rules
    this.#byOwner = rules.byOwner
  }

  /** Takes lines of JSON: the id of a document, its owner, and the fields that the index needs. A line may come in pieces. */
  add(bytes: Uint8Array): void {
    const end = bytes.lastIndexOf(LINE_BREAK)
    if (end < 0) {
      this.#rest = Buffer.concat([this.#rest, bytes])
      return
    }
    const lines = Buffer.concat([this.#rest, bytes.subarray(0, end)]).toString()
    this.#rest = bytes.subarray(end + 1)
    const documents = parseJson(`[${lines.replaceAll('\n', ',')}]`) as [string, string, Json][]
    // Together: one by one, the parser and the statement take twice as long.
    const entries: string[] = []
    for (const document of documents) {
      entries.push(...this.#entriesOf(document))
      if (entries.length >= ENTRIES_A_BATCH) this.#insertAll(entries.splice(0))
    }
    this.#insertAll(entries)
  }

  #insertAll(entries: readonly string[]): void {
    this.#lines.add(`[${entries.join()}]`)
  }

  /** The entries of a document as JSON; the order of these texts is that of the bytes of their keys. */
  #entriesOf([id, owner, document]: [string, string, Json]): string[] {
    try {
      const { entries, hasArrays, hasCutKeys } = entriesOf(document, this.#rules)
      this.#hasArrays ||= hasArrays
      this.#hasCutKeys ||= hasCutKeys
      const after = `${JSON.stringify(id)},${this.#byOwner ? JSON.stringify(owner) : 'null'}`
      return entries.map(({ key, ends }) => `["${key.toString('hex')}",${after},${ends}]`)
    } catch (error) {
      if (!(error instanceof UnindexableError)) throw error
      this.#refused ??= `in the document ${id} ${error.message}`
      return []
    }
  }

  /** Ends the documents: from now on `next` answers. */
  end(): SortedDocuments {
    this.#sorted = this.#lines.read()
    this.#ahead = this.#read()
    return {
      hasArrays: this.#hasArrays,
      hasCutKeys: this.#hasCutKeys,
      ...(this.#refused !== undefined && { refused: this.#refused }),
    }
  }

  /** The next entries; undefined at their end. */
  next(): EntryBatch | undefined {
    const lines: string[] = []
    let [documents, characters] = [0, 0]
    for (; this.#ahead !== undefined; this.#ahead = this.#read()) {
      characters += this.#ahead.length
      if (lines.length > 0 && (lines.length === ENTRIES_A_BATCH || characters > BATCH_CHARACTERS)) break
      lines.push(this.#ahead)
      if (IS_FIRST.test(this.#ahead)) documents++
    }
    return lines.length === 0 ? undefined : { lines: `[${lines.join()}]`, documents }
  }

  #read(): string | undefined {
    const next = this.#sorted!.next()
    return next.done ? undefined : next.value
  }

  close(): void {
    this.#lines.close()
  }
}
