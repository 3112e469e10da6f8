import { signal } from '@preact/signals'
import { useEffect } from 'preact/hooks'

import { six } from './session.ts'
import { Text } from './text.tsx'

const AT_ONCE = 100

/** The email addresses of users by their ids; null if there is no such user, or it could not be asked for. */
const emails = signal<ReadonlyMap<string, string | null>>(new Map())
let waiting = new Set<string>()

/** A user by the email address, which is asked for once, for all that are shown together. Until then, and of a key, the id. */
export function Owner({ of: id }: { of: string }) {
  useEffect(() => request(id), [id])
  const email = emails.value.get(id)
  return <span title={id}>{email ? <Text>{email}</Text> : <code>{id}</code>}</span>
}

function request(id: string): void {
  if (emails.peek().has(id)) return
  if (waiting.size === 0) setTimeout(() => void load())
  waiting.add(id)
}

async function load(): Promise<void> {
  const ids = [...waiting]
  waiting = new Set()
  const known = new Map<string, string | null>(ids.map((id) => [id, null]))
  for (let at = 0; at < ids.length; at += AT_ONCE) {
    const query = { ids: ids.slice(at, at + AT_ONCE).join(','), limit: AT_ONCE, total: 'none' } as const
    // Without addresses the list is as useful as with ids, which it shows.
    const page = await six.call('GET /auth/users', { query }).catch(() => undefined)
    for (const { _id, email } of page?.users ?? []) known.set(_id, email)
  }
  emails.value = new Map([...emails.value, ...known])
}
