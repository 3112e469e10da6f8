import { isoTime } from '../../../../../base/clock.ts'
import { newId } from '../../../../../base/ids.ts'
import type { PolicyName } from '../../../../../kernel/policy/policy.ts'
import { readCollection } from '../../definition/collection.ts'
import type { CollectionOption } from '../../definition/collection-option.ts'
import { subjectOf, type UserValue } from '../../definition/viewer.ts'
import { withoutServiceFields, type Fields, type ServiceFields } from '../../language/document-json.ts'
import { refuseChanges } from '../../language/fields/protection.ts'
import type { Scalar } from '../../language/query/filter.ts'
import type { RuleSubject } from '../../language/rules/rule.ts'
import type { ApplyChange, DecidedDocument } from '../../writes/access-checks.ts'
import { checkWanted, type WantedAction } from './checked-action.ts'
import { decisionOf, type Decision } from './decision.ts'

/** Somebody who is signed in, with the values of `store.user` by their names: `teams: ['a', 'b']`. */
export type DecisionUser = {
  readonly _id: string
  /** Default: user. */
  readonly role?: 'user' | 'admin'
  readonly email?: string
  /** Whether the address is verified. Default: true. An unverified one is no value of `$$user`. */
  readonly emailVerified?: boolean
  readonly [value: string]: string | number | boolean | readonly (string | number | boolean)[] | undefined
}

/** Who does what, for `decide`. Documents are whole; those without `_id` and times get some. */
export type DecisionCall = {
  /** Undefined: a stranger. */
  readonly user: DecisionUser | undefined
  /** The policy of the server. Default: open. */
  readonly policy?: PolicyName
} & (
  | {
      readonly action: 'create'
      /** What is sent. */
      readonly after: Fields
    }
  | {
      readonly action: 'read' | 'delete'
      readonly before: Fields
      /** The account that the document belongs to. Default: none. */
      readonly owner?: string
    }
  | {
      readonly action: 'update'
      readonly before: Fields
      /** The document with the change; a field that is not in it is removed. */
      readonly after: Fields
      readonly owner?: string
    }
)

/**
 * Decides whether the rules, protected fields and schema of a collection let somebody do something, as the server does and by the
 * same code, but without a server: for tests of a configuration.
 *
 * What takes a database is not decided: whether unique fields are free, where relations lead, what is deleted besides; hooks do
 * not run, `If-Match` is not asked. Values of `store.user` are those of `user`; one that is missing is unresolved, so that what
 * uses it does not hold.
 *
 * @param collection the option as it is written in `store.collections`: a word or an object
 * @returns whether it is allowed; if not, the step that refuses it with the answer of the route
 * @throws StartError for a collection with which a server would not start
 * @example
 * decide({ read: { members: '$$user._id' } }, { user: { _id: 'ann' }, action: 'read', before: { members: ['bob'] } })
 * // { allowed: false, step: 'readable', status: 404, code: 'NOT_FOUND', message: 'Document … not found in …' }
 */
export function decide(collection: CollectionOption, call: DecisionCall): Decision {
  const { user, policy = 'open' } = call
  const definition = readCollection('collection', collection, { policy, userValues: 'any' })
  const wanted = wantedBy(call, isoTime(Date.now()))
  return decisionOf((enter) =>
    checkWanted({ collection: definition, subject: subjectOfUser(user), enter }, wanted),
  )
}

function subjectOfUser(user: DecisionUser | undefined): RuleSubject {
  if (!user) return subjectOf(undefined)
  const { _id: id, role = 'user', email, emailVerified = true, ...values } = user
  const own = subjectOf({
    kind: 'user',
    id,
    role,
    email: email ?? '',
    emailVerified: emailVerified && email !== undefined,
    sessionId: '',
  })
  if (own.isPrivileged) return own
  const lists = Object.entries(values).map(([name, value]): [string, UserValue] => [
    name,
    value === undefined ? value : ([value].flat() as Scalar[]),
  ])
  return { ...own, values: new Map([...lists, ...own.values]), rowFilters: new Map() }
}

function wantedBy(call: DecisionCall, now: string): WantedAction {
  if (call.action === 'create') {
    const service = { _id: newId(Date.now()), createdAt: now, updatedAt: now }
    return { action: 'create', sent: { service, fields: call.after, owner: call.user?._id ?? '' } }
  }
  const stored = storedOf(call.before, call.owner, now)
  const { _id: id } = stored.service
  if (call.action !== 'update') return { action: call.action, stored, id }
  return { action: 'update', stored, id, updatedAt: now, apply: replaceBy(withoutServiceFields(call.after)) }
}

/** A change to these fields. As of a request, what is not shown is refused before what is read only. */
const replaceBy =
  (after: Fields): ApplyChange =>
  (fields, { concealed }) => {
    refuseChanges(fields, after, concealed)
    return after
  }

function storedOf(before: Fields, owner = '', now: string): DecidedDocument {
  const { _id = newId(Date.now()), createdAt = now, updatedAt = createdAt } = before as Partial<ServiceFields>
  return { service: { _id, createdAt, updatedAt }, fields: withoutServiceFields(before), owner }
}
