import type { Database } from '../../../../db/database.ts'
import { countEntriesSql } from '../sql/entries.ts'
import type { Plan } from './plan.ts'

const PLANS_MAX = 4
const ENTRIES_MAX = 1000

/**
 * Puts the plans that lead to the fewest entries first, of some of the best ones; those that all lead to many stay in their
 * order.
 *
 * @param owner of all documents of the list, if it is one
 */
export async function fewestFirst(
  db: Database,
  plans: readonly Plan[],
  owner: string | undefined,
): Promise<readonly Plan[]> {
  // The entries of one that is exact are the list, and no plan leads to fewer.
  if (plans.length < 2 || plans[0]!.isExact) return plans.slice(0, 1)
  const counted = await Promise.all(
    plans.slice(0, PLANS_MAX).map(async (plan) => {
      const row = await db.get(countEntriesSql(plan, owner, ENTRIES_MAX))
      return { plan, entries: row!.entries }
    }),
  )
  return counted.toSorted((a, b) => a.entries - b.entries).map(({ plan }) => plan)
}
