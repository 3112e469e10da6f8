import { isInside, withoutIndexes } from '../fields/field-path.ts'
import { refuseValues } from '../fields/protection.ts'
import { isObject } from '../query/filter.ts'
import type { Path } from '../query/path.ts'
import { refused, type FieldChange } from './field-change.ts'
import type { OperatorPatch } from './operators.ts'

/** What these do depends on all that is in a value, and shows it. */
const COMPARING = ['$pull', '$pullAll', '$addToSet', '$min', '$max', '$rename']

/**
 * Refuses operators that would write, compare or sort by fields that are not shown to the caller, whatever the document has
 * there.
 *
 * @throws VALIDATION_ERROR
 */
export function refuseConcealed(patch: OperatorPatch, concealed: readonly Path[]): void {
  for (const change of patch) for (const path of concealed) refuseConcealedAt(change, path)
}

function refuseConcealedAt({ path, at, operator, operand }: FieldChange, concealed: Path): void {
  const own = withoutIndexes(path)
  if (isInside(own, concealed))
    throw refused(at, `${concealed.join('.')} cannot be written by you: leave it out.`)
  if (!isInside(concealed, own)) return
  const comparesAll = COMPARING.includes(operator) || (isObject(operand) && Object.hasOwn(operand, '$sort'))
  if (comparesAll)
    throw refused(
      at,
      `${operator} cannot be used on what holds ${concealed.join('.')}: change its parts one by one.`,
    )
  const inside = concealed.slice(own.length)
  refuseValues(operand, [inside, ['$each', ...inside]], at)
}
