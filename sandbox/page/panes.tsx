import type { ComponentChildren } from 'preact'
import { useEffect, useRef } from 'preact/hooks'

import { go, href, Link } from '../../console/src/parts/router.tsx'
import { Copy } from '../../console/src/parts/text.tsx'
import { openIn, PARTS, shown, type Part } from './where.ts'

/** Moves the focus through the links of a list with the arrow keys, Home and End. */
function moveFocus(event: KeyboardEvent): void {
  const links = [...(event.currentTarget as Element).querySelectorAll('a')]
  const at = links.indexOf(document.activeElement as HTMLAnchorElement)
  const to = { ArrowDown: at + 1, ArrowUp: at - 1, Home: 0, End: links.length - 1 }[event.key]
  if (at < 0 || to === undefined) return
  event.preventDefault()
  links[to]?.focus()
}

/**
 * A list and a reader beside it. Escape moves the focus from the reader back to its row in the list.
 *
 * @param props.isEmpty undefined until the list is loaded
 * @param props.reader what is open; undefined if nothing of the list is
 */
export function Panes(props: {
  part: Part
  isEmpty: boolean | undefined
  empty: ComponentChildren
  choose: ComponentChildren
  bar?: ComponentChildren
  below?: ComponentChildren
  rows: ComponentChildren
  reader: ComponentChildren
}) {
  const { part, isEmpty, reader } = props
  const view = useRef<HTMLElement>(null)
  const openId = openIn(part)
  const isReading = isEmpty === undefined ? openId !== undefined : reader !== undefined
  function close(event: KeyboardEvent): void {
    if (event.key !== 'Escape' || openId === undefined) return
    go(href([part]))
    requestAnimationFrame(() =>
      view.current?.querySelector<HTMLElement>(`[data-key="${CSS.escape(openId)}"] a`)?.focus(),
    )
  }
  return (
    // The keys are those of what is inside.
    // oxlint-disable-next-line jsx-a11y/no-noninteractive-element-interactions
    <section
      id={`view-${part}`}
      ref={view}
      class={['panes', isReading && 'reading', isEmpty && 'nothing'].filter(Boolean).join(' ')}
      aria-labelledby={`${part}-title`}
      hidden={shown.value !== part}
      onKeyDown={close}
    >
      <div class="list">
        <div class="bar">
          <h2 id={`${part}-title`}>{PARTS[part]}</h2>
          {props.bar}
        </div>
        {/* oxlint-disable-next-line jsx-a11y/no-noninteractive-element-interactions */}
        <ul id={`${part}-list`} class="rows" aria-labelledby={`${part}-title`} onKeyDown={moveFocus}>
          {props.rows}
        </ul>
        {props.below}
      </div>
      <div id={`${part}-reader`} class="reader">
        {reader}
        {reader === undefined && isEmpty !== undefined && (
          <div class="empty">{isEmpty ? props.empty : props.choose}</div>
        )}
      </div>
    </section>
  )
}

/** One row of a list, as a link to what it opens. */
export const Row = (props: {
  part: Part
  id: string
  title: string
  moment?: ComponentChildren
  isNew?: boolean
  children: ComponentChildren
}) => (
  <li class={props.isNew ? 'new' : ''} data-key={props.id}>
    <a
      href={href([props.part, props.id])}
      aria-current={openIn(props.part) === props.id ? 'true' : undefined}
    >
      <span class="line">
        <strong title={props.title}>{props.title}</strong>
        {props.moment}
      </span>
      {props.children}
    </a>
  </li>
)

/** The title of what is open, which gets the focus, and on a phone the way back to the list. */
export function Title({ part, back, children }: { part: Part; back: string; children: string }) {
  const ref = useRef<HTMLHeadingElement>(null)
  useEffect(() => ref.current?.focus(), [])
  return (
    <>
      <Link class="back" to={href([part])}>
        Back to the {back}
      </Link>
      <h3 ref={ref} tabIndex={-1}>
        {children}
      </h3>
    </>
  )
}

/** A command to try, with a button that copies it. */
export const Command = ({ text, what }: { text: string; what: string }) => (
  <div class="command">
    <pre tabIndex={0}>
      <code>{text}</code>
    </pre>
    <Copy text={text} what={what} />
  </div>
)

/** Text with web addresses as links. */
export const Linked = ({ text }: { text: string }) => (
  <>
    {text.split(/(https?:\/\/[^\s<>"]*[^\s<>".,;:!?)\]}'])/).map((part, at) =>
      at % 2 === 1 ? (
        <a key={at} href={part} target="_blank" rel="noopener noreferrer">
          {part}
        </a>
      ) : (
        part
      ),
    )}
  </>
)
