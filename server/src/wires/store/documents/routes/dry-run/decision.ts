import { ApiError, type Issue } from '../../../../../base/errors.ts'
import type { DecisionStep } from '../../writes/access-checks.ts'

/** Whether somebody may do something; if not, the step that refuses it, and what the route answers. */
export type Decision =
  | { readonly allowed: true }
  | {
      readonly allowed: false
      readonly step: DecisionStep
      /** The HTTP status. */
      readonly status: number
      readonly code: string
      readonly message: string
      /** What is wrong with the fields that were sent. */
      readonly issues?: readonly Issue[]
    }

/** Runs checks; what they throw is the refusal of the step that was entered last. */
export function decisionOf(check: (enter: (step: DecisionStep) => void) => void): Decision {
  let step: DecisionStep = 'signed-in'
  try {
    check((next) => void (step = next))
    return { allowed: true }
  } catch (error) {
    if (error instanceof ApiError) return refusal(step, error)
    throw error
  }
}

function refusal(step: DecisionStep, { status, code, message, details }: ApiError): Decision {
  const issues = details?.['issues'] as readonly Issue[] | undefined
  return { allowed: false, step, status, code, message, ...(issues && { issues }) }
}
