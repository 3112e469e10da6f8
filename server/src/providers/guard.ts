import type { Clock } from '../base/clock.ts'
import { oneLine } from '../base/one-line.ts'
import { within } from '../base/within.ts'
import type { Outcome } from './outcome.ts'

const REASON_MAX = 300
/** A provider that ends at its own limit knows more about the outcome than a caller that stops waiting. */
const GRACE_MS = 500

/**
 * Calls a provider, ours or an operator's own, so that an outcome comes whatever the provider does: one that throws,
 * does not end within the limit, or answers what is no outcome, leaves its outcome unknown. Never rejects.
 *
 * @param options.limitMs what the provider was given; it has half a second more
 * @param options.isAccepted whether what stands in an accepted outcome is what it must be
 */
export async function guarded<T extends object>(
  call: () => Promise<Outcome<T>>,
  options: {
    limitMs: number
    clock: Pick<Clock, 'timer'>
    isAccepted?: (outcome: Readonly<Record<string, unknown>>) => boolean
  },
): Promise<Outcome<T>> {
  const { limitMs, clock, isAccepted = () => true } = options
  try {
    return readOutcome<T>(await within(limitMs + GRACE_MS, call, clock), isAccepted)
  } catch (error) {
    return { kind: 'unknown', reason: oneLine(String(error), REASON_MAX) }
  }
}

function readOutcome<T extends object>(
  answered: unknown,
  isAccepted: (outcome: Readonly<Record<string, unknown>>) => boolean,
): Outcome<T> {
  const outcome = (typeof answered === 'object' && answered !== null ? answered : {}) as Record<
    string,
    unknown
  >
  const { kind, afterMs, code, details } = outcome
  const why: unknown = outcome['reason'] ?? 'the provider did not say why'
  const reason = oneLine(typeof why === 'string' ? why : JSON.stringify(why), REASON_MAX)
  if (kind === 'accepted' && isAccepted(outcome)) return outcome as Outcome<T>
  if (kind === 'refused')
    return {
      kind,
      reason,
      ...(typeof code === 'string' && { code }),
      ...(isTexts(details) && { details }),
    }
  if (kind === 'unknown') return { kind, reason }
  if (kind === 'retry') {
    const isDelay = typeof afterMs === 'number' && afterMs > 0 && Number.isFinite(afterMs)
    return { kind, reason, ...(isDelay && { afterMs }) }
  }
  const text = oneLine(JSON.stringify(answered) ?? String(answered), REASON_MAX)
  return { kind: 'unknown', reason: `the provider answered no outcome: ${text}` }
}

const isTexts = (value: unknown): value is Readonly<Record<string, string>> =>
  typeof value === 'object' && value !== null && Object.values(value).every((one) => typeof one === 'string')
