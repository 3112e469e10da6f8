import { defineWire, Type } from 'sixwire'

import { createPoints } from './points.ts'
import { loyaltyRoutes } from './routes.ts'

/** A seventh wire: points that customers collect and spend. */
export const loyalty = defineWire({
  name: 'loyalty',
  options: Type.Object({ welcomePoints: Type.Integer({ minimum: 0, default: 0 }) }),
  migrations: new URL('./migrations/', import.meta.url),
  setup({ db }, { welcomePoints }) {
    const points = createPoints(db, welcomePoints)
    return { routes: loyaltyRoutes(points), service: points }
  },
})
