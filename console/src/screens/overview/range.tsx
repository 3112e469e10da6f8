import { href, Link, queryValue } from '../../parts/router.tsx'

/** The times that are shown, and what the one before each is called. */
export const RANGES = [
  { name: '24h', title: '24 hours', before: 'the 24 hours before' },
  { name: '7d', title: '7 days', before: 'the 7 days before' },
  { name: '30d', title: '30 days', before: 'the 30 days before' },
  { name: '90d', title: '90 days', before: 'the 90 days before' },
] as const

export type RangeChoice = (typeof RANGES)[number]

/** The range of the address: `?range=7d`. */
export const rangeInPlace = (): RangeChoice =>
  RANGES.find(({ name }) => name === queryValue('range')) ?? RANGES[0]

/** Switches the range. */
export function RangeSwitch() {
  const chosen = rangeInPlace()
  return (
    <nav class="ranges" aria-label="Time that is shown">
      {RANGES.map(({ name, title }) => (
        <Link key={name} to={href(['overview'], { range: name })} current={name === chosen.name}>
          {title}
        </Link>
      ))}
    </nav>
  )
}
