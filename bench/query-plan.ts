import { setTimeout as delay } from 'node:timers/promises'

import { askFor } from './client.ts'
import type { Target } from './servers.ts'

/** An index as a plan shows it. */
export type Index = { fields: string; state: string; source: string }

/** What the bench reads of a plan. */
type Plan = { plan: string; indexes: Index[] }

const LIMIT_MS = 300_000
const POLL_MS = 100

/** How the server answers a list. */
export const explain = ({ base, token }: Target, path: string): Promise<Plan> =>
  askFor<Plan>(base, `GET ${path}${path.includes('?') ? '&' : '?'}explain=true`, { token })

/** Waits for the indexes of a collection. */
export async function untilReady(
  server: Target,
  collection: string,
  isReady: (indexes: readonly Index[]) => boolean,
): Promise<void> {
  for (const begun = performance.now(); performance.now() - begun < LIMIT_MS; await delay(POLL_MS)) {
    const { indexes } = await explain(server, `/store/${collection}`)
    if (isReady(indexes)) return
  }
  throw new Error(`the indexes of ${collection} were not ready after ${LIMIT_MS / 1000} s`)
}
