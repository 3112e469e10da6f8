import { computed } from '@preact/signals'

import { place } from '../../console/src/parts/router.tsx'

/** The parts of the page, in the order of its navigation. */
export const PARTS = {
  inbox: 'Inbox',
  phone: 'Phone',
  authenticator: 'Authenticator',
  people: 'People',
  payments: 'Payments',
  chains: 'Chains',
  webhooks: 'Webhooks',
  events: 'Events',
  providers: 'Providers',
} as const

export type Part = keyof typeof PARTS

/** The part that is shown, and what is open in it: `#inbox/01abc`. */
export const where = computed<{ part: Part; id: string | undefined }>(() => {
  void place.value
  const [name = '', ...rest] = location.hash.replace(/^#\/?/, '').split('/')
  // An id may hold a slash, and may not be encoded: addresses are typed, too.
  const id = rest.join('/')
  return Object.hasOwn(PARTS, name)
    ? { part: name as Part, id: id === '' ? undefined : decoded(id) }
    : { part: 'inbox', id: undefined }
})

function decoded(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    return text
  }
}

/** What is open in a part; undefined while another part is shown. */
export const openIn = (part: Part): string | undefined =>
  where.value.part === part ? where.value.id : undefined

/** The address of something in a part. */
export const hashOf = (part: Part, id?: string): string =>
  id === undefined ? `#${part}` : `#${part}/${encodeURIComponent(id)}`
