import { href, Link } from '../../parts/router.tsx'
import { Badge, Text } from '../../parts/text.tsx'
import type { ShownAuditEntry } from './entries.ts'

const WORDS = {
  command: 'Command line',
  system: 'The server',
  stranger: 'Not signed in',
} as const

/** Who did it, in a row. */
export function Actor({ of: { kind, id, name, role } }: { of: ShownAuditEntry['actor'] }) {
  if (kind !== 'user' && kind !== 'key') return <span class="soft">{WORDS[kind]}</span>
  return (
    <>
      <Text>{name ?? id ?? kind}</Text>{' '}
      {kind === 'key' ? <Badge>key</Badge> : role !== undefined && role !== 'user' && <Badge>{role}</Badge>}
    </>
  )
}

/** The same with a link to the account or the key. */
export const ActorLink = ({ of }: { of: ShownAuditEntry['actor'] }) =>
  of.id === undefined ? (
    <Actor of={of} />
  ) : (
    <Link to={href([of.kind === 'key' ? 'keys' : 'users', of.id])}>
      <Actor of={of} />
    </Link>
  )
