import { auth, defineWire, Type } from 'sixwire'

import { createPoints } from './points.ts'
import { loyaltyRoutes } from './routes.ts'

/** The loyalty wire: points that customers collect and spend. */
export const loyalty = defineWire({
  name: 'loyalty',
  description: 'Points that customers collect and spend.',
  needs: [auth],
  options: Type.Object({ welcomePoints: Type.Integer({ minimum: 0, default: 0 }) }),
  migrations: new URL('./migrations/', import.meta.url),
  setup(context, { welcomePoints }) {
    const points = createPoints(context, welcomePoints)
    return {
      routes: loyaltyRoutes(points, context.auth),
      service: points,
      // A page of the console: it lists the accounts, and grants points to one of them.
      screens: [
        {
          name: 'points',
          title: 'Points',
          list: 'GET /loyalty/accounts',
          columns: ['email', 'points', 'bookings'],
          actions: [
            {
              route: 'POST /loyalty/grants',
              title: 'Grant points',
              from: { email: 'email' },
              danger: 'confirm',
            },
          ],
        },
      ],
    }
  },
})
