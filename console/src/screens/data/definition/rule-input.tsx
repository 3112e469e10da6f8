import { useEffect, useId, useLayoutEffect, useRef, useState } from 'preact/hooks'

import { readJson } from '../../../parts/json-text.ts'
import { announce } from '../../../parts/toast.tsx'
import { suggestionsAt } from './rule-choices.ts'

const textOf = (rule: unknown): string => {
  const line = JSON.stringify(rule)
  return line.length > 60 ? JSON.stringify(rule, null, 2) : line
}

/**
 * A rule as JSON: a filter about the document, or a list of which any may hold. What may be typed next is offered below it:
 * https://www.w3.org/WAI/ARIA/apg/patterns/combobox/
 */
export function RuleInput(props: {
  label: string
  rule: unknown
  fields: readonly string[]
  isLocked: boolean
  onRule: (rule: unknown) => void
  onFault: (fault: string | undefined) => void
}) {
  const { label, rule, fields, isLocked, onRule, onFault } = props
  const id = useId()
  const input = useRef<HTMLTextAreaElement>(null)
  const [text, setText] = useState(() => textOf(rule))
  const [caret, setCaret] = useState(0)
  const [isOpen, setOpen] = useState(false)
  const [chosen, setChosen] = useState(0)
  // Where the caret goes once a suggestion is in the text.
  const next = useRef<number>(undefined)
  const { from, to, of } = suggestionsAt(text, caret, fields)
  const isShown = isOpen && of.length > 0 && !isLocked
  const read = readJson(text)
  const fault = 'value' in read ? undefined : `This is no JSON yet: ${read.faults[0]!.message}`

  useEffect(() => () => onFault(undefined), [])
  useEffect(() => {
    if (isShown) announce(`${of.length} suggestions. Arrow keys choose, Enter takes one.`)
  }, [isShown])
  useLayoutEffect(() => {
    if (next.current === undefined) return
    input.current?.setSelectionRange(next.current, next.current)
    next.current = undefined
  })

  function write(typed: string, at: number): void {
    setText(typed)
    setCaret(at)
    setChosen(0)
    const now = readJson(typed)
    onFault('value' in now ? undefined : 'The rule is no JSON yet.')
    if ('value' in now) onRule(now.value)
  }
  function take(index: number): void {
    const { insert } = of[index]!
    next.current = from + insert.length
    write(text.slice(0, from) + insert + text.slice(to), next.current)
    setOpen(false)
    input.current?.focus()
  }
  function onKeyDown(event: KeyboardEvent): void {
    if (event.key === ' ' && event.ctrlKey) setOpen(true)
    else if (!isShown) return
    else if (event.key === 'Escape') setOpen(false)
    else if (event.key === 'Enter') take(chosen)
    else if (event.key === 'ArrowDown' || event.key === 'ArrowUp')
      setChosen((chosen + (event.key === 'ArrowDown' ? 1 : of.length - 1)) % of.length)
    else return
    event.preventDefault()
  }
  return (
    <div class="rule-input">
      <textarea
        ref={input}
        rows={1}
        aria-label={label}
        aria-invalid={fault ? 'true' : undefined}
        aria-describedby={`${id}-hint`}
        aria-autocomplete="list"
        aria-controls={isShown ? `${id}-list` : undefined}
        aria-activedescendant={isShown ? `${id}-${chosen}` : undefined}
        spellcheck={false}
        readOnly={isLocked}
        value={text}
        onInput={(event) => {
          setOpen(true)
          write(event.currentTarget.value, event.currentTarget.selectionStart)
        }}
        onSelect={(event) => setCaret(event.currentTarget.selectionStart)}
        onKeyDown={onKeyDown}
        onBlur={() => setOpen(false)}
      />
      {isShown && (
        <div id={`${id}-list`} class="suggestions" role="listbox" aria-label="Suggestions">
          {of.map(({ insert, about }, at) => (
            <div
              key={insert}
              id={`${id}-${at}`}
              role="option"
              tabIndex={-1}
              aria-selected={at === chosen}
              // Before the blur of the field.
              onMouseDown={(event) => {
                event.preventDefault()
                take(at)
              }}
            >
              <code>{insert}</code> <span class="soft">{about}</span>
            </div>
          ))}
        </div>
      )}
      <p id={`${id}-hint`} class={fault ? 'fault' : 'hint'}>
        {fault ??
          'A filter about the document, or a list of which any may hold: ["owner", {"published": true}]'}
      </p>
    </div>
  )
}
