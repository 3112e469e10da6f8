import type { Caller } from '../../../../http/access.ts'
import { isPrivileged } from '../../../../kernel/policy/policy.ts'
import type { Scalar } from '../language/query/filter.ts'
import type { RuleSubject } from '../language/rules/rule.ts'
import type { CollectionDefinition } from './collection.ts'

/** A value of a caller in `store.user`; undefined if it is unresolved. */
export type UserValue = readonly Scalar[] | undefined

/** Reads a value of `store.user` for a caller. */
export type ReadUserValue = (name: string, own: RuleSubject) => Promise<UserValue>

/** The caller who reads and writes documents in one request. */
export type Viewer = {
  readonly caller: Caller | undefined
  readonly isPrivileged: boolean
  /** The account or key that new documents belong to. */
  readonly owner: string
  /** How many hooks led to what is done. */
  readonly depth: number
  /** For whom rules are asked that need no value of `store.user`. */
  readonly subject: RuleSubject
  /** For whom those of a collection are asked, with the values of `store.user` that it needs. Each is read once a request. */
  subjectFor(collection: Pick<CollectionDefinition, 'userValues'>): RuleSubject | Promise<RuleSubject>
}

/** The owner of documents that the server makes by itself. */
const SYSTEM_OWNER = 'system'

/** The server itself: hooks, schedules, relations. */
export const systemViewer = (depth = 0, owner = SYSTEM_OWNER): Viewer => {
  const subject = { isSignedIn: false, isPrivileged: true, values: new Map(), rowFilters: new Map() }
  return { caller: undefined, isPrivileged: true, owner, depth, subject, subjectFor: () => subject }
}

/** For whom rules are asked, with the values that every account has. */
export function subjectOf(caller: Caller | undefined): RuleSubject {
  const values = new Map<string, Scalar | undefined>()
  if (caller?.kind === 'user') {
    const { id, role, email, emailVerified } = caller
    // An address counts only once it is verified: anybody can sign up with the address of another.
    values
      .set('_id', id)
      .set('role', role)
      .set('email', emailVerified ? email : undefined)
  }
  return {
    isSignedIn: caller?.kind === 'user',
    isPrivileged: isPrivileged(caller),
    values,
    rowFilters: new Map(),
  }
}

/** Makes the viewers of requests. */
export function createViewers(readValue: ReadUserValue): (caller: Caller | undefined) => Viewer {
  // A session has the same caller until something is written.
  const subjects = new WeakMap<Caller, RuleSubject>()
  const ownSubject = (caller: Caller): RuleSubject => {
    const known = subjects.get(caller)
    if (known) return known
    const subject = subjectOf(caller)
    subjects.set(caller, subject)
    return subject
  }
  return (caller) => {
    const own = caller ? ownSubject(caller) : subjectOf(undefined)
    let reads: Map<string, Promise<UserValue>> | undefined
    const valueOf = (name: string): Promise<UserValue> => {
      reads ??= new Map()
      const known = reads.get(name) ?? readValue(name, own)
      reads.set(name, known)
      return known
    }
    return {
      caller,
      isPrivileged: own.isPrivileged,
      subject: own,
      owner: caller?.id ?? '',
      depth: 0,
      subjectFor({ userValues }) {
        if (own.isPrivileged || !own.isSignedIn || userValues.length === 0) return own
        return Promise.all(userValues.map(async (name) => [name, await valueOf(name)] as const)).then(
          (entries) => ({ ...own, values: new Map([...own.values, ...entries]), rowFilters: new Map() }),
        )
      },
    }
  }
}
