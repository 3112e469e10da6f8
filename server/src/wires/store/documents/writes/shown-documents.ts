import { setImmediate } from 'node:timers/promises'

import { parseJson } from '../../../../base/json.ts'
import type { RowFilter } from '../../../../base/row-filter.ts'
import type { CollectionDefinition } from '../definition/collection.ts'
import type { DocumentRow } from '../language/document-json.ts'
import { etagOf } from '../language/etag.ts'
import { markOf, show, viewOf, type FieldView } from '../language/fields/view.ts'
import { project, type Projection } from '../language/fields/projection.ts'
import type { Json } from '../language/query/filter.ts'
import { isWithin, rowFilterOf, type RuleCondition, type RuleSubject } from '../language/rules/rule.ts'
import type { OwnedDocument } from '../storage/sql/document-rows.ts'

/** A document as it is answered. */
export type ShownDocument = { readonly body: string; readonly etag: string }

// Of JSON that is read and written without others in between.
const PART_CHARACTERS = 262_144

/** A document that somebody may read, or the chosen fields of it. */
export function shownFields(
  view: FieldView | undefined,
  document: OwnedDocument,
  projection?: Projection,
): ShownDocument {
  const { body, version } = document
  const isWhole = view === undefined && projection === undefined
  return {
    body: isWhole ? body : shownBody(view, document, projection),
    etag: etagOf(version, view && markOf(view, document)),
  }
}

/** Documents likewise. A large page is done in parts, so that it holds up nobody. */
export async function shownPage(
  view: FieldView | undefined,
  documents: readonly Pick<DocumentRow, 'body' | 'owner'>[],
  projection?: Projection,
): Promise<string[]> {
  const bodies: string[] = []
  let characters = 0
  for (const document of documents) {
    characters += document.body.length
    if (characters > PART_CHARACTERS) {
      await setImmediate()
      characters = document.body.length
    }
    bodies.push(shownBody(view, document, projection))
  }
  return bodies
}

function shownBody(
  view: FieldView | undefined,
  document: Pick<DocumentRow, 'body' | 'owner'>,
  projection?: Projection,
): string {
  const body = show(view, document)
  return projection ? project(body, projection) : body
}

/** Whether a document is within the row filter; it is parsed only if that has to be asked of its fields. */
export const isReadable = (
  rowFilter: RowFilter<RuleCondition>,
  { body, owner }: Pick<DocumentRow, 'body' | 'owner'>,
): boolean => isWithin(rowFilter, owner, () => parseJson(body) as Json)

/**
 * A document as it was answered, to somebody who asks again: without what is not shown to them any more.
 *
 * @param now as it is stored, unless it is gone
 */
export function shownAgain(
  collection: CollectionDefinition,
  subject: RuleSubject,
  answered: Pick<DocumentRow, 'body' | 'owner'>,
  now: Pick<DocumentRow, 'body' | 'owner'> = answered,
): string {
  if (!isReadable(rowFilterOf(collection.read, subject), now)) return serviceFieldsOf(answered.body)
  return show(viewOf(collection, subject), answered, now)
}

const serviceFieldsOf = (body: string): string => `${SERVICE_FIELDS.exec(body)![0]}}`

const SERVICE_FIELDS = /^\{"_id":"[^"]*","createdAt":"[^"]*","updatedAt":"[^"]*"/

/** A document as it is answered to somebody who wrote it: without a right to read it, `_id` and the times only. */
export function shownAfterWrite(
  collection: CollectionDefinition,
  subject: RuleSubject,
  document: OwnedDocument,
): ShownDocument {
  const { body, version } = document
  if (!isReadable(rowFilterOf(collection.read, subject), document))
    return { body: serviceFieldsOf(body), etag: etagOf(version) }
  return shownFields(viewOf(collection, subject), document)
}
