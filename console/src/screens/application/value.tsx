import { Badge, Text, Time } from '../../parts/text.tsx'
import type { DeclaredField } from './call.ts'

const SHOWN_CHARACTERS = 300

/** A value of a record by its kind. */
export function Value({ value, kind }: { value: unknown; kind: DeclaredField['kind'] }) {
  if (value === undefined || value === null || value === '') return <span class="soft">–</span>
  if (kind === 'time' && typeof value === 'string') return <Time at={value} />
  if (typeof value === 'boolean') return <Badge tone={value ? 'good' : 'plain'}>{value ? 'yes' : 'no'}</Badge>
  if (typeof value === 'number') return <>{value.toLocaleString()}</>
  if (kind === 'choice' && typeof value === 'string')
    return (
      <Badge>
        <Text>{value}</Text>
      </Badge>
    )
  const text = typeof value === 'string' ? value : JSON.stringify(value)
  return <Text>{text.slice(0, SHOWN_CHARACTERS)}</Text>
}
