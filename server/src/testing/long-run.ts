import { randomInt } from 'node:crypto'

/**
 * Whether a test is to try everything that it can, however long that takes: under `npm run test:long`, where a `.long.ts`
 * file beside it sets the variable. Otherwise it takes a part, and another one at each run.
 */
export const isLongRun = process.env['LONG_RUN'] === 'on'

/** So many of what is enumerated, others at each run; in the long run all. */
export function sample<T>(all: readonly T[], count: number): readonly T[] {
  const left = [...all]
  return isLongRun ? all : all.slice(0, count).map(() => left.splice(randomInt(left.length), 1)[0]!)
}
