import { route, Type } from 'sixwire'

import { errors } from './errors.ts'
import type { createPoints } from './points.ts'

const Balance = Type.Object({ points: Type.Integer() })
const Points = Type.Integer({ minimum: 1, maximum: 1_000_000 })

export function loyaltyRoutes(points: ReturnType<typeof createPoints>) {
  return [
    route(
      'GET /loyalty/balance',
      { summary: 'How many points I have', access: 'session', reply: { 200: Balance } },
      async ({ caller }) => ({ points: await points.balance(caller.id) }),
    ),
    route(
      'POST /loyalty/grants',
      {
        summary: 'Give a user points',
        access: 'admin',
        idempotent: true,
        body: Type.Object({ userId: Type.String({ minLength: 1, maxLength: 64 }), points: Points }),
        reply: { 201: Balance },
      },
      async ({ body, recordId }) => ({ points: await points.grant(recordId, body.userId, body.points) }),
    ),
    route(
      'POST /loyalty/redeem',
      {
        summary: 'Spend points',
        access: 'session',
        idempotent: true,
        limit: '30/min',
        body: Type.Object({ points: Points }),
        reply: { 200: Balance },
        errors: [errors.not_enough_points],
      },
      async ({ caller, body }) => ({ points: await points.redeem(caller.id, body.points) }),
    ),
  ] as const
}
