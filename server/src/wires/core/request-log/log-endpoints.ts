import { errors } from '../../../base/errors.ts'
import { idPattern } from '../../../base/ids.ts'
import { Type } from '../../../base/schema.ts'
import { CursorQuery, pageOf } from '../../../http/page.ts'
import { endpoint } from '../../../http/route.ts'
import { ownerOf } from '../../../kernel/policy/owner-query.ts'
import type { Policy } from '../../../kernel/policy/policy.ts'
import { FAULT_STATES } from './faults.ts'
import { LogFilterQuery } from './log-list.ts'
import type { LogOperations } from './log-operations.ts'
import { timeOf } from '../../../base/time-text.ts'
import { Time } from '../schemas.ts'

const NextCursor = Type.Optional(Type.String({ description: 'Absent on the last page.' }))

const Entry = Type.Object(
  {
    _id: Type.String(),
    kind: Type.Enum(['request', 'problem'], {
      description: 'problem: a warning or an error of the server’s log.',
    }),
    at: Time,
    process: Type.String({ description: 'The process that wrote it, another one at each start.' }),
    requestId: Type.Optional(Type.String()),
    method: Type.Optional(Type.String()),
    route: Type.Optional(Type.String({ description: 'Absent if no route has the path.' })),
    path: Type.Optional(Type.String({ description: 'Without its query.' })),
    status: Type.Optional(
      Type.Integer({ description: '499: the client disconnected before it was answered.' }),
    ),
    ms: Type.Optional(Type.Number()),
    caller: Type.Optional(Type.Object({ kind: Type.Enum(['user', 'key']), id: Type.String() })),
    ip: Type.Optional(Type.String()),
    code: Type.Optional(Type.String({ description: 'The code of the error that was answered.' })),
    level: Type.Optional(Type.Enum(['warn', 'error', 'fatal'])),
    message: Type.Optional(Type.String()),
    fields: Type.Optional(
      Type.Record(Type.String(), Type.Unknown(), { description: 'What was logged with it.' }),
    ),
    fault: Type.Optional(Type.String({ description: 'The _id of its fault.' })),
  },
  { title: 'RequestLogEntry' },
)

const Fault = Type.Object(
  {
    _id: Type.String(),
    name: Type.String({ examples: ['TypeError'] }),
    message: Type.String({ description: 'Of the last occurrence, as are place, stack and lastRequestId.' }),
    place: Type.Optional(Type.String({ description: 'The first line outside of packages and of Node.' })),
    stack: Type.Optional(Type.String()),
    count: Type.Integer(),
    state: Type.Enum(FAULT_STATES, { description: 'A resolved one that happens again is open.' }),
    firstAt: Time,
    lastAt: Time,
    lastRequestId: Type.Optional(Type.String()),
    lastProcess: Type.String(),
    resolvedAt: Type.Optional(Time),
    resolvedBy: Type.Optional(Type.String({ description: 'The id of a user or a service key.' })),
  },
  { title: 'Fault' },
)

const Keeps = Type.Object({
  days: Type.Integer(),
  rows: Type.Integer(),
  perSecond: Type.Integer({ description: 'Successful requests that one server writes in a second.' }),
  slowMs: Type.Integer(),
})

type LogParts = { logs: LogOperations; policy: Pick<Policy, 'accountOfEmail'> }

/** The endpoints of the request log. */
export const logEndpoints = ({ logs, policy }: LogParts) => ({
  list: endpoint(
    {
      summary: 'List requests and problems',
      description:
        'Newest first, of all replicas. An entry is there within two seconds. Of many successful requests some are written and the others counted, see omitted; those that fail or are slow are all written, up to 200 in a second for each process. No bodies, queries or tokens.',
      access: 'operator',
      query: Type.Object({ ...LogFilterQuery, ...CursorQuery }),
      reply: {
        200: Type.Object(
          {
            entries: Type.Array(Entry),
            limit: Type.Integer(),
            nextCursor: NextCursor,
            omitted: Type.Integer({
              description:
                'Requests and problems of the hours from since to until which were counted, and not written.',
            }),
            keeps: Type.Optional(Keeps),
          },
          { title: 'RequestLogPage' },
        ),
      },
    },
    async ({ caller, query: { limit, cursor, ...query } }) => {
      const filter = { ...query, caller: await ownerOf(policy, caller, { owner: query.caller }) }
      const page = pageOf({ limit, cursor, offset: 0 })
      const { keeps } = logs
      return { ...(await logs.list(filter, page)), limit: page.limit, ...(keeps && { keeps }) }
    },
  ),
  stream: endpoint(
    {
      summary: 'Follow requests and problems',
      description:
        'Server-sent events: entry for each one, of all replicas and within a few seconds; skipped if there were more than 200 in a second; ping. Last-Event-ID, or after, goes on behind an entry of the last five minutes; those of some seconds before it come again.',
      access: 'operator',
      stream: true,
      query: Type.Object({
        ...LogFilterQuery,
        after: Type.Optional(Type.String({ pattern: idPattern, description: 'The _id of an entry.' })),
      }),
      headers: Type.Object({
        'last-event-id': Type.Optional(
          Type.String({ pattern: idPattern, description: 'Likewise; it takes precedence over after.' }),
        ),
      }),
      reply: { 200: Type.String() },
      errors: [errors.too_many_streams],
    },
    async ({ caller, query: { after, ...query }, headers }) => {
      const filter = { ...query, caller: await ownerOf(policy, caller, { owner: query.caller }) }
      return logs.tail(filter, headers['last-event-id'] ?? after)
    },
  ),
  faults: endpoint(
    {
      summary: 'List faults',
      description: 'Unexpected errors by their name and the place that threw them, the latest first.',
      access: 'operator',
      query: Type.Object({
        state: Type.Optional(Type.Enum(FAULT_STATES)),
        q: Type.Optional(
          Type.String({ maxLength: 200, description: 'A part of the name, the message or the place.' }),
        ),
        ...CursorQuery,
      }),
      reply: {
        200: Type.Object(
          { faults: Type.Array(Fault), limit: Type.Integer(), nextCursor: NextCursor },
          { title: 'FaultPage' },
        ),
      },
    },
    async ({ query }) => {
      const limit = Math.min(query.limit, 1000)
      return { ...(await logs.faults({ ...query, limit })), limit }
    },
  ),
  routes: endpoint(
    {
      summary: 'List slow routes',
      description:
        'The routes that take longest on average, at most 20, by the newest 20,000 requests in the log. Those of the console are left out.',
      access: 'operator',
      query: Type.Object({
        since: Type.Optional(
          Type.String({
            format: 'date-time',
            description: 'Default: all that is kept.',
            examples: ['2026-01-01T00:00:00.000Z'],
          }),
        ),
      }),
      reply: {
        200: Type.Object(
          {
            routes: Type.Array(
              Type.Object(
                {
                  method: Type.String(),
                  route: Type.String({ examples: ['/store/:collection'] }),
                  requests: Type.Integer(),
                  failures: Type.Integer({ description: 'Of the requests: with a status of 5xx.' }),
                  meanMs: Type.Number(),
                  maxMs: Type.Number(),
                },
                { title: 'RouteTime' },
              ),
            ),
          },
          { title: 'SlowRoutes' },
        ),
      },
    },
    async ({ query: { since } }) => ({
      routes: await logs.slowestRoutes(since === undefined ? 0 : timeOf(since, '/query/since')),
    }),
  ),
  resolve: endpoint(
    {
      summary: 'Resolve a fault',
      description: 'It is open again as soon as it happens again.',
      access: 'operator',
      params: Type.Object({ id: Type.String({ maxLength: 64, examples: ['0a1b2c3d4e5f60718293'] }) }),
      reply: { 200: Fault },
      errors: [errors.not_found],
    },
    ({ params: { id }, actor }) => logs.resolve(id, actor),
  ),
})
