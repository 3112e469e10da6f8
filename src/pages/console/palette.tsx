import { useId, useMemo, useState } from 'preact/hooks'

import { Dialog } from '../parts/dialog.tsx'
import { hasWire } from '../parts/installation.ts'
import { useLoad } from '../parts/load.tsx'
import { go, href } from '../parts/router.tsx'
import { six } from '../parts/session.ts'
import type { Screen } from './screens.ts'

type Found = { title: string; hint: string; address: string }

const SHOWN = 12

/** What can be opened: screens, collections of the store, and searches of the screens that have one. */
function find(text: string, screens: readonly Screen[], collections: readonly string[]): Found[] {
  const wanted = text.trim().toLowerCase()
  const matches = (title: string) => title.toLowerCase().includes(wanted)
  return [
    ...screens
      .filter(({ title }) => matches(title))
      .map(({ name, title }) => ({ title, hint: 'Screen', address: href([name]) })),
    ...collections
      .filter(matches)
      .map((name) => ({ title: name, hint: 'Collection', address: href(['data', name]) })),
    ...(wanted === ''
      ? []
      : screens
          .filter(({ search }) => search !== undefined)
          .map(({ name, title, search }) => ({
            title: `${title}: “${text.trim()}”`,
            hint: 'Search',
            address: href([name], { [search!]: text.trim() }),
          }))),
  ].slice(0, SHOWN)
}

async function loadCollections(signal: AbortSignal): Promise<string[]> {
  if (!hasWire('store')) return []
  const { data } = await six.call('GET /store/collections', { query: { limit: 1000 }, signal })
  return data.map(({ name }) => name)
}

/** Opens anything by its name. The arrow keys choose: https://www.w3.org/WAI/ARIA/apg/patterns/combobox/ */
export function Palette({ screens, close }: { screens: readonly Screen[]; close: () => void }) {
  const [text, setText] = useState('')
  const [at, setAt] = useState(0)
  const id = useId()
  const collections = useLoad(loadCollections, [])
  const found = useMemo(() => find(text, screens, collections.value ?? []), [text, collections.value])
  const open = (one: Found | undefined): void => {
    if (!one) return
    close()
    go(one.address)
  }
  function onKeyDown(event: KeyboardEvent): void {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key]
    if (step !== undefined) setAt((at + step + found.length) % Math.max(1, found.length))
    else if (event.key === 'Enter') open(found[at])
    else return
    event.preventDefault()
  }
  return (
    <Dialog title="Search" close={close}>
      <input
        type="text"
        role="combobox"
        aria-label="Search screens, collections and records"
        aria-expanded={found.length > 0}
        aria-controls={id}
        aria-activedescendant={found[at] && `${id}-${at}`}
        autoComplete="off"
        autoFocus
        placeholder="A screen, a collection, an address, an id…"
        value={text}
        onInput={(event) => {
          setText(event.currentTarget.value)
          setAt(0)
        }}
        onKeyDown={onKeyDown}
      />
      <div id={id} class="found" role="listbox" aria-label="Results">
        {found.map((one, index) => (
          // The keys are those of the field.
          // oxlint-disable-next-line jsx-a11y/click-events-have-key-events
          <div
            key={one.address}
            id={`${id}-${index}`}
            role="option"
            tabIndex={-1}
            aria-selected={index === at}
            onClick={() => open(one)}
          >
            <span>{one.title}</span> <span class="soft">{one.hint}</span>
          </div>
        ))}
      </div>
      {found.length === 0 && <p class="soft">Nothing was found.</p>}
    </Dialog>
  )
}
