import { isoTime, type Clock } from '../../../../../base/clock.ts'
import { newId } from '../../../../../base/ids.ts'
import type { Caller } from '../../../../../http/access.ts'
import type { Policy } from '../../../../../kernel/policy/policy.ts'
import type { Collections } from '../../definition/collections.ts'
import { readDocument, type Fields } from '../../language/document-json.ts'
import type { Documents } from '../../storage/documents.ts'
import type { Json } from '../../language/query/filter.ts'
import type { Action } from '../../language/rules/audience.ts'
import type { RuleOption } from '../../language/rules/rule.ts'
import { patchBy, updateBy } from '../../writes/request-body.ts'
import { documentOf, type DecidedDocument } from '../../writes/access-checks.ts'
import { checkWanted, type WantedAction } from './checked-action.ts'
import { holdingAlternative, ruleOf, type AskedDocument } from './decided-rule.ts'
import { decisionOf, type Decision } from './decision.ts'

/** What stored decisions are made with. */
type StoredContext = {
  readonly clock: Clock
  readonly policy: Policy
  readonly collections: Collections
  readonly documents: Pick<Documents, 'find'>
}

/** What somebody would ask of a route. */
export type DecisionRequest = {
  readonly caller: Caller | undefined
  readonly action: Action
  readonly collection: string
  /** Of the document; without one, `read` is a list. */
  readonly id?: string | undefined
  /** The body of the request. */
  readonly body?: Fields | undefined
  /** Whether an update is a PUT, instead of a PATCH. */
  readonly isPut?: boolean
}

/** A decision on a stored document, with what it follows from. */
export type StoredDecision = {
  readonly decision: Decision
  /** The alternative of the rule that allows it, or else the whole rule; undefined if no rule was asked. */
  readonly rule: RuleOption | undefined
  /** Whether there is a document of the `_id`. */
  readonly isThere: boolean
}

/**
 * Decides whether somebody may do something to a document as it is stored, as the routes do and by the same code; see `decide` for
 * what is not asked. Nothing is written.
 */
export async function decideStored(
  { clock, policy, collections, documents }: StoredContext,
  request: DecisionRequest,
): Promise<StoredDecision> {
  const { caller, action, id } = request
  const collection = collections.get(request.collection)
  const subject = await collections.viewer(caller).subjectFor(collection)
  const old = id === undefined || action === 'create' ? undefined : await documents.find(collection.name, id)
  const stored = old && { ...readDocument(old.body), owner: old.owner }
  const now = clock.now()
  const decision = decisionOf((enter) => {
    const access = action === 'create' ? 'user' : 'optional'
    policy.admit(caller, { access, wire: 'store', method: METHODS[action] })
    enter('fields')
    checkWanted({ collection, subject, enter }, wantedBy(request, stored, now))
  })
  const rule = ruleOf(collections.set.options[collection.name], action, policy.name)
  const asked = askedBy(request, stored, now)
  const holding = decision.allowed ? holdingAlternative(rule, subject, asked) : rule
  return {
    decision,
    rule: subject.isPrivileged ? undefined : holding,
    isThere: stored !== undefined,
  }
}

/** The document that a rule was asked for. */
function askedBy(request: DecisionRequest, stored: DecidedDocument | undefined, now: number): AskedDocument {
  const wanted = wantedBy(request, stored, now)
  const document = wanted.action === 'create' ? wanted.sent : stored
  if (!document) return undefined
  return { owner: document.owner, json: () => documentOf(document.service, document.fields) as Json }
}

const METHODS = { read: 'GET', create: 'POST', update: 'PATCH', delete: 'DELETE' } as const

/** @throws VALIDATION_ERROR for operators that cannot be read */
function wantedBy(
  { caller, action, id, body = {}, isPut = false }: DecisionRequest,
  stored: DecidedDocument | undefined,
  now: number,
): WantedAction {
  const time = isoTime(now)
  if (action === 'create') {
    const service = { _id: newId(now), createdAt: time, updatedAt: time }
    return { action, sent: { service, fields: body, owner: caller?.id ?? '' } }
  }
  if (id === undefined) return { action: 'list' }
  if (action !== 'update') return { action, stored, id }
  return { action, stored, id, apply: isPut ? updateBy(body) : patchBy(body), updatedAt: time }
}
