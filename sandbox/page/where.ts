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

/** The part that the page shows. */
export const shown = computed<Part>(() => {
  const { screen } = place.value
  return Object.hasOwn(PARTS, screen) ? (screen as Part) : 'inbox'
})

/** What is open in a part; undefined while another part is shown. */
export const openIn = (part: Part): string | undefined =>
  place.value.screen === part ? place.value.rest || undefined : undefined
