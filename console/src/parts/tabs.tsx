import type { ComponentChildren } from 'preact'
import { useId, useRef, useState } from 'preact/hooks'

import { place, setQuery } from './router.tsx'

export type TabItem = { name: string; title: string; show: () => ComponentChildren }

/**
 * Shows one panel at a time. The arrow keys change it: https://www.w3.org/WAI/ARIA/apg/patterns/tabs/
 *
 * @param props.query the parameter of the address that has the choice, as in `?tab=json`; null keeps it in the component
 */
export function Tabs({
  label,
  tabs,
  query = 'tab',
}: {
  label: string
  tabs: readonly TabItem[]
  query?: string | null
}) {
  const id = useId()
  const bar = useRef<HTMLDivElement>(null)
  const [own, setOwn] = useState(0)
  const chosen = query === null ? tabs[own]?.name : place.value.query.get(query)
  const at = Math.max(
    0,
    tabs.findIndex(({ name }) => name === chosen),
  )
  const choose = (index: number) =>
    query === null ? setOwn(index) : setQuery({ [query]: index === 0 ? undefined : tabs[index]!.name })
  function onKeyDown(event: KeyboardEvent): void {
    const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key]
    if (step === undefined) return
    event.preventDefault()
    const next = (at + step + tabs.length) % tabs.length
    choose(next)
    bar.current?.querySelectorAll('button')[next]?.focus()
  }
  return (
    <div class="tabbed">
      <div class="tabs" role="tablist" tabIndex={-1} aria-label={label} ref={bar} onKeyDown={onKeyDown}>
        {tabs.map(({ name, title }, index) => (
          <button
            key={name}
            id={`${id}-${name}`}
            type="button"
            role="tab"
            aria-selected={index === at}
            aria-controls={`${id}-panel`}
            tabIndex={index === at ? 0 : -1}
            onClick={() => choose(index)}
          >
            {title}
          </button>
        ))}
      </div>
      <div
        key={tabs[at]!.name}
        id={`${id}-panel`}
        class="tab-panel"
        role="tabpanel"
        aria-labelledby={`${id}-${tabs[at]!.name}`}
      >
        {tabs[at]!.show()}
      </div>
    </div>
  )
}
