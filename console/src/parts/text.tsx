import { signal } from '@preact/signals'
import type { ComponentChildren } from 'preact'
import { useEffect, useState } from 'preact/hooks'

// Control characters, those that change the direction of text, and those that take no room: text with them can look like
// something else. https://www.unicode.org/reports/tr36/
const INVISIBLE =
  /[\u0000-\u0008\u000B-\u001F\u007F-\u009F\u00AD\u061C\u180E\u200B-\u200F\u2028-\u202E\u2060-\u2069\uFEFF\uFFF9-\uFFFB]/gu

/** Whether a text has characters that cannot be seen, which `Text` shows. */
export const hasInvisible = (text: string): boolean => text.search(INVISIBLE) !== -1

/** Text of strangers: never HTML, and what can't be seen is shown by its code point. */
export function Text({ children }: { children: string }) {
  const parts: ComponentChildren[] = []
  let from = 0
  for (const { 0: character, index } of children.matchAll(INVISIBLE)) {
    parts.push(children.slice(from, index))
    parts.push(<mark class="code-point">{nameOf(character)}</mark>)
    from = index + character.length
  }
  return <bdi>{parts.length === 0 ? children : [...parts, children.slice(from)]}</bdi>
}

const nameOf = (character: string): string =>
  `U+${character.codePointAt(0)!.toString(16).toUpperCase().padStart(4, '0')}`

export type Tone = 'plain' | 'good' | 'warning' | 'bad'

/** A state in one word. */
export const Badge = ({ tone = 'plain', children }: { tone?: Tone; children: ComponentChildren }) => (
  <span class={`badge ${tone}`}>{children}</span>
)

const clockTime = new Intl.DateTimeFormat(undefined, {
  hour: '2-digit',
  minute: '2-digit',
  second: '2-digit',
})
const dayTime = new Intl.DateTimeFormat(undefined, {
  day: 'numeric',
  month: 'short',
  hour: '2-digit',
  minute: '2-digit',
})
const yearDay = new Intl.DateTimeFormat(undefined, { day: 'numeric', month: 'short', year: 'numeric' })

/** The day of now: times of yesterday are written with their day. */
const today = signal(new Date().toDateString())

function awaitMidnight(): void {
  const now = new Date()
  const midnight = new Date(now.getFullYear(), now.getMonth(), now.getDate() + 1)
  setTimeout(() => {
    today.value = new Date().toDateString()
    awaitMidnight()
  }, midnight.getTime() - now.getTime())
}
awaitMidnight()

/** The time of today, the day and the time of this year, or the day of another; all of it and UTC on hovering. */
export function Time({ at }: { at: string | undefined }) {
  if (at === undefined) return <span class="soft">–</span>
  const date = new Date(at)
  if (Number.isNaN(date.getTime())) return <span>{at}</span>
  const isToday = date.toDateString() === today.value
  const isThisYear = date.getFullYear() === new Date(today.value).getFullYear()
  const format = isToday ? clockTime : isThisYear ? dayTime : yearDay
  return (
    <time dateTime={at} title={`${date.toLocaleString()}\n${at}`}>
      {format.format(date)}
    </time>
  )
}

const UNITS = ['B', 'kB', 'MB', 'GB', 'TB']

/** A number of bytes for people: 1.4 MB. */
export function bytes(count: number): string {
  const power = count < 1000 ? 0 : Math.min(UNITS.length - 1, Math.floor(Math.log10(count) / 3))
  const value = count / 1000 ** power
  return `${power === 0 || value >= 100 ? Math.round(value) : value.toFixed(1)} ${UNITS[power]}`
}

/** An amount in minor units of a currency, by the reader's own customs. */
export function money(minor: number | string, currency: string): string {
  const format = new Intl.NumberFormat(undefined, { style: 'currency', currency: currency.toUpperCase() })
  const digits = format.resolvedOptions().maximumFractionDigits ?? 2
  return format.format(Number(minor) / 10 ** digits)
}

/** A button that copies text. */
export function Copy({ text, what }: { text: string; what: string }) {
  const [isCopied, setCopied] = useState(false)
  useEffect(() => {
    if (!isCopied) return
    const timer = setTimeout(() => setCopied(false), 1500)
    return () => clearTimeout(timer)
  }, [isCopied])
  const copy = () => void navigator.clipboard.writeText(text).then(() => setCopied(true))
  return (
    <button type="button" class="small copy" aria-label={`Copy ${what}`} onClick={copy}>
      {isCopied ? 'Copied' : 'Copy'}
    </button>
  )
}

/** An id or an address, in full, with a button to copy it. */
export const Id = ({ children, what = 'the id' }: { children: string; what?: string }) => (
  <span class="id">
    <code>
      <Text>{children}</Text>
    </code>
    <Copy text={children} what={what} />
  </span>
)

/** Names and values below each other. */
export const Facts = ({
  of,
}: {
  /** What is no pair is left out. */
  of: readonly (readonly [string, ComponentChildren] | false | '' | null | undefined)[]
}) => (
  <dl class="facts">
    {of.map(
      (one) =>
        one && (
          <>
            <dt key={one[0]}>{one[0]}</dt>
            <dd key={`${one[0]} value`}>{one[1] ?? <span class="soft">–</span>}</dd>
          </>
        ),
    )}
  </dl>
)

const TOKEN = /("(?:[^"\\]|\\.)*")(\s*:)?|\b(true|false|null)\b|(-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?)/g

/** A value as JSON with colours. Large ones are shown without. */
export function Json({ value, label = 'JSON' }: { value: unknown; label?: string }) {
  const text = JSON.stringify(value, null, 2) ?? ''
  return (
    <pre class="json" tabIndex={0} aria-label={label}>
      <code>{text.length > 50_000 ? text : coloured(text)}</code>
    </pre>
  )
}

function coloured(text: string): ComponentChildren[] {
  const parts: ComponentChildren[] = []
  let from = 0
  for (const match of text.matchAll(TOKEN)) {
    const [all, string, colon, word, number] = match
    parts.push(text.slice(from, match.index))
    from = match.index + all.length
    const kind = colon ? 'key' : string ? 'string' : word ? 'word' : number ? 'number-value' : ''
    parts.push(
      <span class={kind}>
        <Text>{string ?? all}</Text>
      </span>,
      colon ?? '',
    )
  }
  return [...parts, text.slice(from)]
}
