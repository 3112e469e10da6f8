import { noDocument } from '../../../errors.ts'
import type { Fields } from '../../language/document-json.ts'
import type { Json } from '../../language/query/filter.ts'
import { isWithin, rowFilterOf } from '../../language/rules/rule.ts'
import {
  changeFields,
  checkAction,
  checkResult,
  checkStored,
  documentOf,
  newFields,
  type AccessRequest,
  type ApplyChange,
  type DecidedDocument,
} from '../../writes/access-checks.ts'

/** What somebody wants to do; `stored` is undefined if there is no such document. */
export type WantedAction =
  | { readonly action: 'list' }
  | { readonly action: 'create'; readonly sent: DecidedDocument }
  | { readonly action: 'read' | 'delete'; readonly stored: DecidedDocument | undefined; readonly id: string }
  | {
      readonly action: 'update'
      readonly stored: DecidedDocument | undefined
      readonly id: string
      readonly apply: ApplyChange
      readonly updatedAt: string
    }

/**
 * Checks what rules, protected fields and the schema say of an action, by the functions of the routes.
 *
 * @throws the error that the route answers
 */
export function checkWanted(request: AccessRequest, wanted: WantedAction): void {
  const { collection, subject, enter } = request
  checkAction(request, wanted.action === 'list' ? 'read' : wanted.action)
  if (wanted.action === 'list') return
  if (wanted.action === 'create') {
    const fields: Fields = newFields(request, wanted.sent)
    checkResult(request, undefined, { ...wanted.sent, fields })
    return
  }
  const { stored, id } = wanted
  enter?.('readable')
  if (!stored) throw noDocument(collection.name, id)
  const { service, owner } = stored
  if (wanted.action === 'read') {
    const document = () => documentOf(service, stored.fields) as Json
    if (!isWithin(rowFilterOf(collection.read, subject), owner, document))
      throw noDocument(collection.name, id)
    return
  }
  checkStored(request, wanted.action, stored, { version: 0 })
  if (wanted.action !== 'update') return
  const { apply, updatedAt } = wanted
  const fields = changeFields(request, stored, apply, { isInsert: false, now: updatedAt })
  checkResult(request, stored, { service: { ...service, updatedAt }, fields, owner })
}
