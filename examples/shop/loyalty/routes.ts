import { errors as common, json, route, Type, type ServiceOf, type auth } from 'sixwire'

import { errors } from './errors.ts'
import type { Points } from './points.ts'

// A schema with a title is a component of this name in /openapi.json, which all routes refer to.
const Balance = Type.Object(
  { points: Type.Integer({ description: 'The points that are left.' }) },
  { title: 'Balance' },
)
const Account = Type.Object(
  {
    userId: Type.String(),
    email: Type.String({ format: 'email' }),
    points: Type.Integer(),
    bookings: Type.Integer(),
  },
  { title: 'LoyaltyAccount' },
)
const PAGE = 50
const Amount = Type.Integer({ minimum: 1, maximum: 1_000_000, examples: [30] })
const Email = Type.String({ maxLength: 320, format: 'email', examples: ['ada@example.com'] })

export function loyaltyRoutes(points: Points, accounts: ServiceOf<typeof auth>) {
  return [
    route(
      'GET /loyalty/balance',
      { summary: 'Read the balance of points', access: 'session', reply: { 200: Balance } },
      async ({ caller }) => ({ points: await points.balance(caller.id) }),
    ),
    route(
      'GET /loyalty/accounts',
      {
        summary: 'List accounts with points',
        access: 'operator',
        query: Type.Object({
          cursor: Type.Optional(Type.String({ description: 'The nextCursor of a page.' })),
        }),
        reply: {
          200: Type.Object({ accounts: Type.Array(Account), nextCursor: Type.Optional(Type.String()) }),
        },
      },
      async ({ query: { cursor } }) => {
        const page = await points.list(PAGE, cursor)
        const users = await Promise.all(page.map(({ userId }) => accounts.users.find({ id: userId })))
        return {
          accounts: page.map((one, at) => ({ ...one, email: users[at]?.email ?? '' })),
          ...(page.length === PAGE && { nextCursor: page.at(-1)!.userId }),
        }
      },
    ),
    route(
      'POST /loyalty/grants',
      {
        summary: 'Grant points to a customer',
        access: 'admin',
        idempotent: true,
        body: json(Type.Object({ email: Email, points: Amount })),
        reply: { 201: Balance },
        errors: [common.not_found],
      },
      async ({ body, recordId }) => {
        const account = await accounts.users.find(body.email)
        if (!account) throw common.not_found({ message: `No account has the address ${body.email}.` })
        return { points: await points.book(recordId, account.id, body.points) }
      },
    ),
    route(
      'POST /loyalty/redeem',
      {
        summary: 'Spend points',
        access: 'session',
        idempotent: true,
        limit: '30/min',
        body: json(Type.Object({ points: Amount })),
        reply: { 200: Balance },
        errors: [errors.not_enough_points],
      },
      async ({ caller, body, recordId }) => ({
        points: await points.book(recordId, caller.id, -body.points),
      }),
    ),
  ] as const
}
