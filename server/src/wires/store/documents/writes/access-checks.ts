import { errors, invalid, type ApiError, type Issue } from '../../../../base/errors.ts'
import { noDocument } from '../../errors.ts'
import { checkAudience, type CollectionDefinition } from '../definition/collection.ts'
import {
  withoutServiceFields,
  writeDocument,
  type Fields,
  type ServiceFields,
} from '../language/document-json.ts'
import { refuseChanges, refuseValues, withoutConcealed } from '../language/fields/protection.ts'
import { concealedIn, viewOf } from '../language/fields/view.ts'
import type { UpdateContext } from '../language/operators/field-change.ts'
import type { Json } from '../language/query/filter.ts'
import type { Path } from '../language/query/path.ts'
import type { Action } from '../language/rules/audience.ts'
import { isWithin, rowFilterOf, type RuleSubject } from '../language/rules/rule.ts'

/** The steps by which it is decided whether somebody may do something, in their order. */
export type DecisionStep =
  | 'signed-in'
  | 'audience'
  | 'readable'
  | 'version'
  | 'before'
  | 'fields'
  | 'schema'
  | 'after'
  | 'document'

/** Somebody who wants to do something in a collection. */
export type AccessRequest = {
  readonly collection: CollectionDefinition
  readonly subject: RuleSubject
  /** Called as each step begins: the last one is that of the error. */
  readonly enter?: (step: DecisionStep) => void
}

/** A document as it is stored, with the account that it belongs to. */
export type DecidedDocument = {
  readonly service: ServiceFields
  readonly fields: Fields
  readonly owner: string
}

/** The fields that a caller may not write. */
export type Protected = {
  /** Not to be sent at all, because they are not shown. */
  readonly concealed: readonly Path[]
  /** Not to be changed. */
  readonly readOnly: readonly Path[]
}

/**
 * Makes the new fields of a document out of those that it has.
 *
 * @throws VALIDATION_ERROR where it names what is protected, or does not fit the document
 */
export type ApplyChange = (fields: Fields, fixed: Protected, context: UpdateContext) => Fields

/** A document with the fields of the server, as rules and hooks see it. */
export const documentOf = (service: ServiceFields, fields: Fields): Fields & ServiceFields => ({
  ...service,
  ...fields,
})

/** What rules forbid somebody who may read the document. */
const notAllowed = (action: 'create' | 'update' | 'delete'): ApiError =>
  errors.forbidden({
    message: `The rules of this collection do not let you ${action} this document.`,
    details: { action },
  })

/**
 * Whether somebody may do it to any document at all.
 *
 * @throws UNAUTHORIZED, FORBIDDEN
 */
export function checkAction({ collection, subject, enter }: AccessRequest, action: Action): void {
  enter?.('audience')
  const rule = action === 'update' ? collection.update.before : collection[action]
  checkAudience(rule, subject, action !== 'read')
}

/**
 * Whether somebody may change or delete a document that is there.
 *
 * @param version that of the document, and those that the client takes for the current one; undefined for any
 * @throws NOT_FOUND, PRECONDITION_FAILED, FORBIDDEN
 */
export function checkStored(
  { collection, subject, enter }: AccessRequest,
  action: 'update' | 'delete',
  { service, fields, owner }: DecidedDocument,
  { version, expected }: { readonly version: number; readonly expected?: readonly number[] | undefined },
): void {
  enter?.('readable')
  const document = documentOf(service, fields) as Json
  const rule = action === 'update' ? collection.update.before : collection.delete
  const isReadable = isWithin(rowFilterOf(collection.read, subject), owner, () => document)
  const isAllowed = isWithin(rowFilterOf(rule, subject), owner, () => document)
  // Who may write, but not read, would learn from errors what is in the document; a plain collection has no such errors.
  if (!isReadable && !(isAllowed && collection.isPlain)) throw noDocument(collection.name, service._id)
  enter?.('version')
  if (expected?.includes(version) === false) throw errors.precondition_failed()
  enter?.('before')
  if (!isAllowed) throw notAllowed(action)
}

/**
 * The fields that a change makes of those of a document.
 *
 * @throws VALIDATION_ERROR for a protected field, or for a change that does not fit the document
 */
export function changeFields(
  request: AccessRequest,
  document: DecidedDocument,
  apply: ApplyChange,
  context: UpdateContext,
): Fields {
  request.enter?.('fields')
  const { fields } = document
  const fixed = protectedFields(request, document)
  const changed = withoutServiceFields(apply(fields, fixed, context))
  refuseChanges(fields, changed, [...fixed.concealed, ...fixed.readOnly])
  return changed
}

/**
 * The fields of a document to be created.
 *
 * @throws VALIDATION_ERROR for a protected field
 */
export function newFields(request: AccessRequest, sent: DecidedDocument, at?: string): Fields {
  request.enter?.('fields')
  const fields = withoutServiceFields(sent.fields)
  const { concealed, readOnly } = protectedFields(request, { ...sent, fields })
  refuseValues(fields, [...concealed, ...readOnly], at)
  return fields
}

/** @throws VALIDATION_ERROR if a field of a new document would not be shown to the caller */
export function refuseHidden(request: AccessRequest, fields: Fields, owner: string): void {
  const service = { _id: '', createdAt: '', updatedAt: '' }
  refuseValues(fields, protectedFields(request, { service, fields, owner }).concealed)
}

/**
 * What is wrong with fields, as far as somebody may see it.
 *
 * @param document it decides what is shown: the stored one, or the one to be created
 * @param at where the fields are in the request
 */
export function visibleIssues(
  request: AccessRequest,
  document: DecidedDocument,
  issues: readonly Issue[],
  at = '/body',
): Issue[] {
  const { concealed } = protectedFields(request, document)
  return withoutConcealed(issues, concealed, { at, collection: request.collection.name })
}

function protectedFields(
  { collection, subject }: AccessRequest,
  { service, fields, owner }: DecidedDocument,
): Protected {
  if (subject.isPrivileged) return { concealed: [], readOnly: [] }
  const view = viewOf(collection, subject)
  return {
    concealed: view ? concealedIn(view, documentOf(service, fields) as Json, owner) : [],
    readOnly: collection.readOnly,
  }
}

/**
 * Whether a document may be as it would be stored.
 *
 * @param stored what it is until then; undefined if it is to be created
 * @param at where its fields are in the request
 * @returns its JSON
 * @throws VALIDATION_ERROR for what the schema does not take, and for a field name that begins with `$`; FORBIDDEN;
 *   PAYLOAD_TOO_LARGE over 1 MiB
 */
export function checkResult(
  request: AccessRequest,
  stored: DecidedDocument | undefined,
  document: DecidedDocument,
  at = '/body',
): string {
  const { collection, subject, enter } = request
  const { service, fields, owner } = document
  enter?.('schema')
  const issues = collection.validate?.(fields, at) ?? []
  if (issues.length > 0) throw invalid(...visibleIssues(request, stored ?? document, issues, at))
  enter?.('after')
  const rule = stored ? collection.update.after : collection.create
  if (!isWithin(rowFilterOf(rule, subject), owner, () => documentOf(service, fields) as Json))
    throw notAllowed(stored ? 'update' : 'create')
  enter?.('document')
  return writeDocument(service, fields, at)
}
