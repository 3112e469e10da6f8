import { withoutServiceFields, type Fields } from '../language/document-json.ts'
import { keepProtected, refuseValues } from '../language/fields/protection.ts'
import { mergePatch } from './merge-patch.ts'
import { applyOperators } from '../language/operators/apply-operators.ts'
import { isOperatorPatch, parseOperators } from '../language/operators/operators.ts'
import { refuseConcealed } from '../language/operators/protected-paths.ts'
import type { FilterTree } from '../language/query/filter.ts'
import type { ApplyChange, Protected } from './access-checks.ts'

/** What a PUT does: it sets the given top-level fields. */
export const updateBy =
  (body: Fields): ApplyChange =>
  (fields, fixed) =>
    keepProtected(fields, { ...fields, ...sendable(body, fixed) }, [...fixed.concealed, ...fixed.readOnly])

/** What a PUT with `replace` does: what is not given is removed, and fields are in the order that they are sent in. */
export const replaceBy =
  (body: Fields): ApplyChange =>
  (fields, fixed) =>
    keepProtected(fields, sendable(body, fixed), [...fixed.concealed, ...fixed.readOnly])

/**
 * What a PATCH does: it applies a merge patch, or MongoDB's update operators if all names begin with `$`.
 *
 * @param filter by which the documents are found, for the position `$` in paths; undefined if they are named by their ids
 * @throws VALIDATION_ERROR
 */
export function patchBy(body: Fields, filter?: FilterTree): ApplyChange {
  const sent = withoutServiceFields(body)
  if (!isOperatorPatch(sent)) return (fields, fixed) => mergePatch(fields, sendable(sent, fixed))
  const operators = parseOperators(sent, '/body', filter)
  return (fields, { concealed }, context) => {
    refuseConcealed(operators, concealed)
    return applyOperators(fields, operators, context)
  }
}

/** What a client sent, without the fields of the server. @throws VALIDATION_ERROR if it has a field that is not shown */
function sendable(sent: Fields, { concealed }: Protected): Fields {
  const fields = withoutServiceFields(sent)
  refuseValues(fields, concealed)
  return fields
}
