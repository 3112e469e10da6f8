import { withParts, type BatchRows, type Steps, type StepWith } from './database.ts'
import type { Row } from './sql.ts'

/**
 * Runs the steps of a batch in order, calls what they ask for once they are committed, and answers their rows in the
 * batch's own shape.
 *
 * @param run commits all of them or nothing, and answers the rows of each
 */
export async function runBatch<S extends Steps>(
  steps: S,
  run: (steps: readonly StepWith[]) => Promise<Row[][]>,
): Promise<BatchRows<S>> {
  const flat = (steps as Steps).flat().map((step) => withParts(step) as StepWith)
  const rows = flat.length === 0 ? [] : await run(flat)
  for (const { committed } of flat) committed?.()
  let at = 0
  return steps.map((step) =>
    Array.isArray(step) ? step.map(() => rows[at++]!) : rows[at++]!,
  ) as BatchRows<S>
}
