import { useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks'

import { place, setQuery } from './router.tsx'

/** What a list is limited by. Its value is in the address: `?q=ada&state=locked`. */
export type ListFilter = { name: string; label: string } & (
  | {
      kind: 'search'
      /** A button beside it, for what helps to write it. */
      helper?: { title: string; open: () => void; disabled: boolean }
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

/** It asks the server after a pause in typing. */
function TextFilter({ name, label, ...rest }: Exclude<ListFilter, { kind: 'choice' }>) {
  const helper = rest.kind === 'search' ? rest.helper : undefined
  const inAddress = place.value.query.get(name) ?? ''
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
        timer.current = setTimeout(() => setQuery({ [name]: value }), WAIT_MS)
      }}
      onKeyDown={(event) => {
        if (event.key === 'Escape') {
          // A browser empties a field of the type search.
          event.preventDefault()
          event.currentTarget.blur()
        } else if (event.key === 'Enter') {
          clearTimeout(timer.current)
          setQuery({ [name]: event.currentTarget.value })
        }
      }}
    />
  )
  if (helper)
    return (
      <span class="helped">
        {input}
        <button type="button" class="small" disabled={helper.disabled} onClick={helper.open}>
          {helper.title}
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
