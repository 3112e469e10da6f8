import { Badge } from '../../parts/text.tsx'
import type { ShownFile } from './preview.tsx'

const TONES = { pending: 'warning', refused: 'bad' } as const

/** Whether a file is public, and whether it is served. */
export const States = ({ of, isWhole = false }: { of: ShownFile; isWhole?: boolean }) => (
  <>
    {of.access === 'public' ? <Badge tone="good">public</Badge> : isWhole && 'private'}{' '}
    {of.status && <Badge tone={TONES[of.status]}>{of.status}</Badge>}
  </>
)
