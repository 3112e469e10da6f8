import { Badge, type Tone } from '../../parts/text.tsx'

const TONES: Readonly<Record<string, Tone>> = {
  completed: 'good',
  confirmed: 'good',
  overpaid: 'good',
  done: 'good',
  accepted: 'good',
  won: 'good',
  pending: 'warning',
  detected: 'warning',
  running: 'warning',
  partially_refunded: 'warning',
  underpaid: 'warning',
  late: 'warning',
  unknown: 'warning',
  failed: 'bad',
  lost: 'bad',
  disputed: 'bad',
  refused: 'bad',
  open: 'bad',
}

/** A state of a payment, a request, an event or a call, in its colour. */
export const State = ({ of }: { of: string }) => (
  <Badge tone={TONES[of] ?? 'plain'}>{of.replaceAll('_', ' ')}</Badge>
)
