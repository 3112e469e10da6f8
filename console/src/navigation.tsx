import { useEffect, useRef, useState } from 'preact/hooks'

import { installation } from './parts/installation.ts'
import { useKeyDown } from './parts/keyboard.ts'
import { href, Link, place } from './parts/router.tsx'
import { end, serverUrl, user } from './parts/session.ts'
import { Icon } from './icons.tsx'
import { AREAS, type AreaName, type Screen } from './screens.ts'

/** A place of the menu, with those of its screens that are there: at least one. */
export type Area = { name: AreaName; title: string; screens: readonly Screen[] }

export const areasOf = (screens: readonly Screen[]): readonly Area[] =>
  AREAS.map(([name, title]) => ({
    name,
    title,
    screens: screens.filter(({ area }) => area === name),
  })).filter((one) => one.screens.length > 0)

/** How many places a phone has beside "Menu". */
const UNDER_THUMB = 4

/** Where the reader was last in each place, as long as the page is open. It can hold filters, so it is stored nowhere. */
const lastAddresses = new Map<AreaName, string>()

/** The places of the console: at the left, on a phone at the bottom, where those that do not fit are behind a button. */
export function Navigation({ areas, showKeys }: { areas: readonly Area[]; showKeys: () => void }) {
  const [isOpen, setOpen] = useState(false)
  const { screen } = place.value
  const current = areas.find(({ screens }) => screens.some(({ name }) => name === screen))
  useEffect(() => {
    setOpen(false)
    if (current) lastAddresses.set(current.name, location.hash)
  }, [place.value])
  // Before a pane, which Escape closes as well.
  useKeyDown(
    (event) => {
      if (!isOpen || event.key !== 'Escape') return
      event.stopImmediatePropagation()
      setOpen(false)
    },
    { capture: true },
  )
  const [first, others] = [areas.slice(0, UNDER_THUMB), areas.slice(UNDER_THUMB)]
  return (
    <nav class={isOpen ? 'navigation open' : 'navigation'} aria-label="Screens">
      <Areas of={first} current={current} />
      <button
        type="button"
        class={current && others.includes(current) ? 'more-places current' : 'more-places'}
        aria-expanded={isOpen}
        onClick={() => setOpen(!isOpen)}
      >
        <Icon of="more" /> Menu
      </button>
      <div class="other-places">
        <Areas of={others} current={current} />
        <Foot showKeys={showKeys} />
      </div>
    </nav>
  )
}

const Areas = ({ of: areas, current }: { of: readonly Area[]; current: Area | undefined }) => (
  <ul>
    {areas.map((area) => (
      <li key={area.name}>
        <a href={addressOf(area, current)} aria-current={area === current ? 'true' : undefined}>
          <Icon of={area.name} /> <span>{area.title}</span>
        </a>
      </li>
    ))}
  </ul>
)

/** Another place is found as it was left; the link of this one closes what is open. */
function addressOf(area: Area, current: Area | undefined): string {
  const last = area === current ? href([place.value.screen]) : lastAddresses.get(area.name)
  return last ?? href([area.screens[0]!.name])
}

/** Who is signed in, and what belongs to no place. */
const Foot = ({ showKeys }: { showKeys: () => void }) => (
  <div class="foot">
    <p class="who" title={user.value?.email}>
      {user.value?.email}
    </p>
    <Link to={href(['account'])}>Your account</Link>
    <a href={`${serverUrl}/docs`} target="_blank" rel="noopener">
      API reference
    </a>
    {installation.value?.sandbox && (
      <a href={`${serverUrl}/sandbox`} target="_blank" rel="noopener">
        Sandbox
      </a>
    )}
    <button type="button" class="link" onClick={showKeys}>
      Keyboard
    </button>
    <button type="button" class="link" onClick={() => void end()}>
      Sign out
    </button>
  </div>
)

/** The screens of a place as tabs, if it has more than one. They are links, so each can be opened in another window. */
export function ScreenTabs({ of: { title, screens } }: { of: Area }) {
  const bar = useRef<HTMLElement>(null)
  const { screen } = place.value
  useEffect(() => {
    bar.current?.querySelector('[aria-current]')?.scrollIntoView({ block: 'nearest', inline: 'nearest' })
  }, [screen])
  if (screens.length < 2) return null
  return (
    <nav class="screen-tabs" aria-label={title} ref={bar}>
      {screens.map((one) => (
        <Link key={one.name} to={href([one.name])} current={one.name === screen}>
          {one.tab ?? one.title}
        </Link>
      ))}
    </nav>
  )
}
