import { Type } from '../../../../base/schema.ts'
import { timeOf } from '../../../../base/time-text.ts'
import type { Database } from '../../../../db/database.ts'
import { isOneOf } from '../../../../db/is-one-of.ts'
import { sql } from '../../../../db/sql.ts'
import { pageOf, PageQuery, PageReply, sortQuery } from '../../../../http/page.ts'
import { endpoint } from '../../../../http/route.ts'
import { ACTOR_KINDS, type AuditLog, type LoggedEntry } from '../../../core/index.ts'
import type { Accounts } from '../../administration/accounts.ts'
import { Time } from '../schemas.ts'

const Values = Type.Record(Type.String(), Type.Unknown())

const Entry = Type.Object(
  {
    _id: Type.String(),
    createdAt: Time,
    action: Type.String({ examples: ['user.role-changed'] }),
    outcome: Type.Enum(['done', 'denied']),
    target: Type.Optional(
      Type.String({ description: 'Kind and id.', examples: ['user:01arz3ndektsv4rrffq69g5fav'] }),
    ),
    targetName: Type.Optional(
      Type.String({ description: 'The address of a user or the name of a key, as it is now.' }),
    ),
    actor: Type.Object({
      kind: Type.Enum(ACTOR_KINDS, {
        description: 'command: the command line; system: the server itself; stranger: not signed in.',
      }),
      id: Type.Optional(Type.String()),
      name: Type.Optional(
        Type.String({ description: 'The address of the user or the name of the key, as it is now.' }),
      ),
      role: Type.Optional(Type.Enum(['user', 'viewer', 'admin'])),
    }),
    impersonatorId: Type.Optional(Type.String({ description: 'The administrator who acted as the user.' })),
    sessionId: Type.Optional(Type.String()),
    ip: Type.Optional(Type.String()),
    userAgent: Type.Optional(Type.String()),
    requestId: Type.Optional(Type.String()),
    route: Type.Optional(Type.String({ examples: ['POST /auth/login'] })),
    before: Type.Optional(Values),
    after: Type.Optional(Values),
    reason: Type.Optional(Type.String()),
  },
  { title: 'AuditEntry' },
)

/** The endpoint of the audit log. */
export const auditEndpoints = ({
  db,
  audit,
  accounts,
}: {
  db: Database
  audit: AuditLog
  accounts: Pick<Accounts, 'find'>
}) => ({
  list: endpoint(
    {
      summary: 'List the audit log',
      description:
        'Who did what to accounts, keys, money and whole collections, from where, and what it was before and after. Entries are never changed.',
      access: 'operator',
      query: Type.Object({
        ...PageQuery,
        ...sortQuery(),
        action: Type.Optional(
          Type.String({
            maxLength: 100,
            description: 'An action, or all of a noun.',
            examples: ['user.role-changed', 'user.*'],
          }),
        ),
        actor: Type.Optional(
          Type.String({
            maxLength: 254,
            description: `The id of a user or a service key, the email address of a user, or one of ${ACTOR_KINDS.join(', ')}.`,
          }),
        ),
        target: Type.Optional(Type.String({ maxLength: 300, examples: ['collection:books'] })),
        since: Type.Optional({ ...Time, description: 'At this time or later.' }),
        until: Type.Optional({ ...Time, description: 'Before this time.' }),
      }),
      reply: { 200: Type.Object({ entries: Type.Array(Entry), ...PageReply }, { title: 'AuditPage' }) },
    },
    async ({ query: { action, actor, target, since, until, ...query } }) => {
      const page = pageOf(query)
      const filter = {
        action,
        actor: actor?.includes('@') ? ((await accounts.find(actor))?.id ?? actor) : actor,
        target,
        since: since === undefined ? undefined : timeOf(since, '/query/since'),
        until: until === undefined ? undefined : timeOf(until, '/query/until'),
      }
      const [{ entries, ...rest }, total] = await Promise.all([
        audit.list(filter, page),
        page.counts ? audit.count(filter) : undefined,
      ])
      return {
        entries: await withNames(db, entries),
        ...(total !== undefined && { total }),
        limit: page.limit,
        offset: page.offset,
        ...rest,
      }
    },
  ),
})

/** Adds the addresses of users and the names of keys, which an entry has only as ids. */
async function withNames(db: Database, entries: readonly LoggedEntry[]) {
  const idIn = (target = ''): string | undefined => /^(?:user|key):(.+)$/.exec(target)?.[1]
  const ids = new Set(entries.flatMap(({ actor, target }) => [actor.id ?? [], idIn(target) ?? []].flat()))
  if (ids.size === 0) return entries.map((entry) => ({ ...entry }))
  const rows = await db.all(sql<{ id: string; name: string }>`
    select id, email as name from auth_users where ${isOneOf('id', [...ids])}
    union all select id, name from auth_service_keys where ${isOneOf('id', [...ids])}`)
  const names = new Map(rows.map(({ id, name }) => [id, name]))
  return entries.map(({ actor, target, ...entry }) => {
    const [name, targetName] = [names.get(actor.id ?? ''), names.get(idIn(target) ?? '')]
    return {
      ...entry,
      actor: { ...actor, ...(name !== undefined && { name }) },
      ...(target !== undefined && { target }),
      ...(targetName !== undefined && { targetName }),
    }
  })
}
