import { ConstraintError, withParts, type BatchRows, type Steps, type StepWith } from './database.ts'
import type { Row } from './sql.ts'

/**
 * Runs the steps of a batch in order, calls their callbacks once they are committed, and returns their rows in the shape
 * of the batch.
 *
 * @param run commits all of them or none, and returns the rows of each
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

/** Says in an error of a constraint which step of the batch it was. */
export function withStep<E>(error: E, step: number | undefined): E {
  if (error instanceof ConstraintError) error.step = step
  return error
}

/** Throws the error of a step that runs alone, likewise. */
export const atStep =
  (step: number) =>
  (error: unknown): never => {
    throw withStep(error, step)
  }
