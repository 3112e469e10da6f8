import { useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks'

import { place, setQuery } from './router.tsx'

/** What a list is limited by. Its value is in the address: `?q=ada&state=locked`; of `datetime-local` it is a moment. */
export type ListFilter = { name: string; label: string } & (
  | {
      kind: 'search'
      /** A button beside it, for what helps to write it. */
      button?: { title: string; open: () => void; disabled: boolean }
    }
  | { kind: 'text'; type?: 'text' | 'date' | 'datetime-local' | 'number' }
  | { kind: 'choice'; options: readonly (readonly [value: string, title: string])[] }
)

const WAIT_MS = 250

/** The fields of the filters of a list. `/` moves the focus to the first. */
export const Filters = ({ of }: { of: readonly ListFilter[] }) => (
  <search class="filters">
    {of.map((filter) =>
      filter.kind === 'choice' ? (
        <select
          key={filter.name}
          aria-label={filter.label}
          value={place.value.query.get(filter.name) ?? ''}
          onChange={(event) => setQuery({ [filter.name]: event.currentTarget.value })}
        >
          <option value="">{filter.label}: all</option>
          {filter.options.map(([value, title]) => (
            <option key={value} value={value}>
              {title}
            </option>
          ))}
        </select>
      ) : (
        <TextFilter key={filter.name} {...filter} />
      ),
    )}
  </search>
)

/** A moment as a field of the type `datetime-local` takes it, in the time zone of the reader. */
function localOf(text: string): string {
  const time = Date.parse(text)
  if (Number.isNaN(time)) return ''
  const ahead = new Date(time).getTimezoneOffset() * 60_000
  return new Date(time - ahead).toISOString().slice(0, 16)
}

const momentOf = (local: string): string => (local === '' ? '' : new Date(local).toISOString())

/** It asks the server after a pause in typing. */
function TextFilter({ name, label, ...rest }: Exclude<ListFilter, { kind: 'choice' }>) {
  const button = rest.kind === 'search' ? rest.button : undefined
  const isMoment = rest.kind === 'text' && rest.type === 'datetime-local'
  const inQuery = place.value.query.get(name) ?? ''
  const inAddress = isMoment ? localOf(inQuery) : inQuery
  const set = (value: string) => setQuery({ [name]: isMoment ? momentOf(value) : value })
  const [text, setText] = useState(inAddress)
  const timer = useRef<ReturnType<typeof setTimeout>>(undefined)
  // The reader went back, or to a link with another filter.
  useLayoutEffect(() => setText(inAddress), [inAddress])
  useEffect(() => () => clearTimeout(timer.current), [])
  const input = (
    <input
      {...({ type: rest.kind === 'search' ? 'search' : rest.type } as { type: 'text' })}
      aria-label={label}
      placeholder={label}
      autoComplete="off"
      spellcheck={false}
      value={text}
      onInput={({ currentTarget: { value } }) => {
        setText(value)
        clearTimeout(timer.current)
        timer.current = setTimeout(() => set(value), WAIT_MS)
      }}
      onKeyDown={(event) => {
        if (event.key === 'Escape') {
          // A browser empties a field of the type search.
          event.preventDefault()
          event.currentTarget.blur()
        } else if (event.key === 'Enter') {
          clearTimeout(timer.current)
          set(event.currentTarget.value)
        }
      }}
    />
  )
  if (button)
    return (
      <span class="with-button">
        {input}
        <button type="button" class="small" disabled={button.disabled} onClick={button.open}>
          {button.title}
        </button>
      </span>
    )
  // A browser shows no placeholder in a field for a date.
  return rest.kind === 'text' && rest.type?.startsWith('date') ? (
    <label class="dated">
      {label} {input}
    </label>
  ) : (
    input
  )
}
