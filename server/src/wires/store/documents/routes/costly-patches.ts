import { setImmediate as nextIteration } from 'node:timers/promises'

import { countedFor } from '../../../../http/limits.ts'
import type { Fields } from '../language/document-json.ts'
import { countPaths } from '../language/operators/operators.ts'
import type { WriteContext } from '../writes/write-context.ts'

/** From so many paths on, the patches of one caller are worked on one after the other: each takes 5 µs of the event loop. */
const COSTLY_PATHS = 200

/** Works on the patches of a call. */
export function runPatches<R>(
  { mutex }: Pick<WriteContext, 'mutex'>,
  call: Parameters<typeof countedFor>[0],
  bodies: readonly Fields[],
  work: () => Promise<R>,
): Promise<R> {
  const paths = bodies.reduce((sum, body) => sum + countPaths(body), 0)
  if (paths <= COSTLY_PATHS) return work()
  // No document has such a key: names of collections have no blank.
  return mutex.run(`paths of ${countedFor(call)}`, async () => {
    await nextIteration()
    return work()
  })
}
