import type { ComponentChildren } from 'preact'
import { useId, useRef, useState } from 'preact/hooks'

type Way = readonly [name: string, show: () => ComponentChildren]

/**
 * Ways to read one thing, one at a time. The arrow keys change them, and they are not in the address:
 * https://www.w3.org/WAI/ARIA/apg/patterns/tabs/
 */
export function Ways({ label, ways }: { label: string; ways: readonly (Way | false)[] }) {
  const choices = ways.filter((one) => one !== false)
  const [chosen, setChosen] = useState(0)
  const bar = useRef<HTMLDivElement>(null)
  const id = useId()
  function onKeyDown(event: KeyboardEvent): void {
    const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key]
    if (step === undefined) return
    const next = (chosen + step + choices.length) % choices.length
    setChosen(next)
    bar.current?.querySelectorAll('button')[next]?.focus()
  }
  return (
    <div class="mail">
      <div class="tabs" role="tablist" tabIndex={-1} aria-label={label} ref={bar} onKeyDown={onKeyDown}>
        {choices.map(([name], at) => (
          <button
            key={name}
            role="tab"
            type="button"
            id={`${id}-${at}`}
            aria-selected={at === chosen}
            tabIndex={at === chosen ? 0 : -1}
            onClick={() => setChosen(at)}
          >
            {name}
          </button>
        ))}
      </div>
      <div class="panel-content" role="tabpanel" key={chosen} aria-labelledby={`${id}-${chosen}`}>
        {choices[chosen]![1]()}
      </div>
    </div>
  )
}

export const Source = ({ children }: { children: ComponentChildren }) => (
  <pre class="source" tabIndex={0}>
    {children}
  </pre>
)

/** A body as it is sent, with line breaks, and its headers. */
export const Sent = (props: {
  label: string
  body: string
  headers?: Readonly<Record<string, string>> | null
}) => {
  const { label, body, headers } = props
  return (
    <Ways
      label={label}
      ways={[
        ['Body', () => <Source>{indented(body)}</Source>],
        headers
          ? [
              'Headers',
              () => (
                <Source>
                  {Object.entries(headers)
                    .map(([name, value]) => `${name}: ${value}`)
                    .join('\n')}
                </Source>
              ),
            ]
          : false,
      ]}
    />
  )
}

function indented(json: string): string {
  try {
    return JSON.stringify(JSON.parse(json), undefined, 2)
  } catch {
    return json
  }
}
