import type { ComponentChildren } from 'preact'
import { useEffect, useRef } from 'preact/hooks'

import { Pane } from '../../console/src/parts/list.tsx'
import { href, Outside } from '../../console/src/parts/router.tsx'
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
 * A list of links, and beside it what one of them opens.
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
  const openId = openIn(part)
  const isOpen = isEmpty === undefined ? openId !== undefined : reader !== undefined
  const look = [isOpen && 'with-pane', isEmpty && 'nothing'].filter(Boolean).join(' ')
  return (
    <section
      id={`view-${part}`}
      class={`screen list panes ${look}`}
      aria-labelledby={`${part}-title`}
      hidden={shown.value !== part}
    >
      <div class="records">
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
      {isOpen ? (
        <Pane key={openId} at={[part]} id={`${part}-reader`}>
          {reader}
        </Pane>
      ) : (
        <div id={`${part}-reader`} class="reader">
          {isEmpty !== undefined && <div class="empty">{isEmpty ? props.empty : props.choose}</div>}
        </div>
      )}
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
  <li class={props.isNew ? 'new' : ''}>
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

/** The title of what is open, which gets the focus. */
export function Title({ children }: { children: string }) {
  const ref = useRef<HTMLHeadingElement>(null)
  useEffect(() => ref.current?.focus(), [])
  return (
    <h2 ref={ref} tabIndex={-1}>
      {children}
    </h2>
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
    {text
      .split(/(https?:\/\/[^\s<>"]*[^\s<>".,;:!?)\]}'])/)
      .map((part, at) => (at % 2 === 1 ? <Outside key={at} url={part} /> : part))}
  </>
)
