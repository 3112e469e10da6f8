import { parseJson } from '../../../../../base/json.ts'
import type { DocumentRow } from '../../language/document-json.ts'
import type { Json } from '../../language/query/filter.ts'
import type { DocumentKey, OwnedDocument } from '../sql/document-rows.ts'

const nameOf = ({ collection, id }: DocumentKey): string => `${collection}/${id}`

type Written = DocumentKey & {
  readonly left: OwnedDocument | undefined
  /** Its body, once it has been asked for. */
  parsed?: Json
}

/** The documents that a batch has read of the database, or written and not committed yet. */
export class KnownDocuments {
  /** Undefined where there is none. */
  readonly #read = new Map<string, OwnedDocument | undefined>()
  readonly #written = new Map<string, Written>()

  /** A document as it is for the next operation; no answer if that is not known. */
  get(key: DocumentKey): { readonly document: OwnedDocument | undefined } | undefined {
    const name = nameOf(key)
    const written = this.#written.get(name)
    if (written) return { document: written.left }
    return this.#read.has(name) ? { document: this.#read.get(name) } : undefined
  }

  /** Those of some documents that are there, and the keys of which that is not known. */
  split(wanted: readonly DocumentKey[]): { there: DocumentRow[]; unknown: DocumentKey[] } {
    const there: DocumentRow[] = []
    const unknown: DocumentKey[] = []
    for (const { collection, id } of wanted) {
      const known = this.get({ collection, id })
      if (!known) unknown.push({ collection, id })
      else if (known.document) there.push({ collection, id, ...known.document })
    }
    return { there, unknown }
  }

  /** Notes what the database has of some documents. */
  noteRead(keys: readonly DocumentKey[], rows: readonly DocumentRow[]): void {
    for (const key of keys) this.#read.set(nameOf(key), undefined)
    for (const row of rows) this.#read.set(nameOf(row), row)
  }

  noteWritten({ collection, id }: DocumentKey, left: OwnedDocument | undefined): void {
    this.#written.set(nameOf({ collection, id }), { collection, id, left })
  }

  isWritten(key: DocumentKey): boolean {
    return this.#written.has(nameOf(key))
  }

  get written(): readonly DocumentKey[] {
    return [...this.#written.values()].map(({ collection, id }) => ({ collection, id }))
  }

  /** The documents of a collection that are written and not deleted. */
  writtenIn(wanted: string): { id: string; owner: string; document: Json }[] {
    return [...this.#written.values()].flatMap((one) => {
      const { collection, id, left } = one
      if (collection !== wanted || !left) return []
      return [{ id, owner: left.owner, document: (one.parsed ??= parseJson(left.body) as Json) }]
    })
  }
}
