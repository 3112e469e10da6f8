import { useEffect, useId, useState } from 'preact/hooks'

import { Dialog } from './parts/dialog.tsx'
import { Problem, useLoad } from './parts/load.tsx'
import { go, href } from './parts/router.tsx'
import { findRecords, loadCollections, type Found } from './find-records.ts'
import type { Screen } from './screens.ts'

const SHOWN = 12
const WAIT_MS = 250

/** What can be opened: screens, collections of the store, records, and searches of the screens that have one. */
function find(
  text: string,
  screens: readonly Screen[],
  collections: readonly string[],
  records: readonly Found[],
): Found[] {
  const wanted = text.toLowerCase()
  const matches = (title: string) => title.toLowerCase().includes(wanted)
  return [
    ...[
      ...screens
        .filter(({ title }) => matches(title))
        .map(({ name, title }) => ({ title, hint: 'Screen', address: href([name]) })),
      ...collections
        .filter(matches)
        .map((name) => ({ title: name, hint: 'Collection', address: href(['data', name]) })),
      ...records,
    ].slice(0, SHOWN),
    ...(wanted === ''
      ? []
      : screens
          .filter(({ search }) => search !== undefined)
          .map(({ name, title, search }) => ({
            title: `${title}: “${text}”`,
            hint: 'Search',
            address: href([name], { [search!]: text }),
          }))),
  ]
}

/** A text once it has not changed for a moment. */
function usePause(text: string): string {
  const [paused, setPaused] = useState(text)
  useEffect(() => {
    const timer = setTimeout(() => setPaused(text), WAIT_MS)
    return () => clearTimeout(timer)
  }, [text])
  return paused
}

/** Opens anything by its name. The arrow keys choose: https://www.w3.org/WAI/ARIA/apg/patterns/combobox/ */
export function Palette({ screens, close }: { screens: readonly Screen[]; close: () => void }) {
  const [typed, setTyped] = useState('')
  const [chosen, setChosen] = useState<string>()
  const id = useId()
  const text = typed.trim()
  const asked = usePause(text)
  const collections = useLoad(loadCollections, [])
  const knownCollections = collections.value ?? []
  const records = useLoad(
    async (signal) => findRecords(asked, knownCollections, signal),
    [asked, collections.value],
  )
  const isSearching = asked !== text || records.isLoading
  const names = knownCollections.map(({ name }) => name)
  const hits = find(text, screens, names, isSearching ? [] : (records.value?.found ?? []))
  // Records come later, and must not move the choice.
  const at = Math.max(
    0,
    hits.findIndex(({ address }) => address === chosen),
  )
  const open = (one: Found | undefined): void => {
    if (!one) return
    close()
    go(one.address)
  }
  function onKeyDown(event: KeyboardEvent): void {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key]
    if (step !== undefined) setChosen(hits[(at + step + hits.length) % Math.max(1, hits.length)]?.address)
    else if (event.key === 'Enter') open(hits[at])
    else return
    event.preventDefault()
  }
  return (
    <Dialog title="Search" close={close}>
      <input
        type="text"
        role="combobox"
        aria-label="Search screens, collections and records"
        aria-expanded={hits.length > 0}
        aria-controls={id}
        aria-activedescendant={hits[at] && `${id}-${at}`}
        autoComplete="off"
        maxLength={200}
        autoFocus
        placeholder="A screen, a collection, an address, an id…"
        value={typed}
        onInput={(event) => {
          setTyped(event.currentTarget.value)
          setChosen(undefined)
        }}
        onKeyDown={onKeyDown}
      />
      <div id={id} class="found" role="listbox" aria-label="Results">
        {hits.map((one, index) => (
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
      {collections.error !== undefined && <Problem error={collections.error} />}
      {records.value?.refusals.map((message) => (
        <p key={message} class="notice bad" role="alert">
          {message}
        </p>
      ))}
      <p class="soft" role="status">
        {isSearching ? 'Searching…' : hits.length === 0 && 'Nothing was found.'}
      </p>
    </Dialog>
  )
}
