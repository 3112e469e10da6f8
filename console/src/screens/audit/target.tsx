import { href, Link } from '../../parts/router.tsx'
import { Text } from '../../parts/text.tsx'

/** Where the console shows records of a kind, by the kind of a target. */
const PLACES: Readonly<Record<string, (id: string) => readonly string[]>> = {
  user: (id) => ['users', id],
  key: (id) => ['keys', id],
  job: (id) => ['jobs', id],
  collection: (id) => ['data', id],
  backup: (id) => ['backups', id],
  message: (id) => ['messages', id],
  transaction: (hash) => ['transactions', hash],
  payment: (id) => ['payments', id],
  'payment-event': (id) => ['payment-events', id],
  webhook: (id) => ['webhooks', id],
}

/** The address in the console of a target such as `user:01…`; undefined if no screen shows it. */
export function addressOfTarget(target: string): string | undefined {
  const [, kind = '', id = ''] = /^([\w-]+):(.+)$/s.exec(target) ?? []
  const path = Object.hasOwn(PLACES, kind) ? PLACES[kind]!(id) : undefined
  return path && id !== 'all' ? href(path) : undefined
}

/** What an entry is about, by its name if that is known, with a link to where it is shown. */
export function Target({ of, name }: { of: string; name?: string | undefined }) {
  const address = addressOfTarget(of)
  const text = <Text>{name ?? of}</Text>
  return address === undefined ? text : <Link to={address}>{text}</Link>
}
