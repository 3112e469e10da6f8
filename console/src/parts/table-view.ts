import { useLayoutEffect, useState } from 'preact/hooks'

import { singleKey, useKeyDown } from './keyboard.ts'

type Scroller = { readonly current: HTMLDivElement | null }

/** The part of the table that is in sight; `read` reads it anew at once, before the browser tells that it has scrolled. */
export function useView(scroller: Scroller): { top: number; height: number; read: () => void } {
  const [view, setView] = useState({ top: 0, height: 800 })
  const read = () => {
    const { scrollTop: top, clientHeight: height } = scroller.current!
    setView({ top, height })
  }
  useLayoutEffect(() => {
    const element = scroller.current!
    const observer = new ResizeObserver(read)
    observer.observe(element)
    element.addEventListener('scroll', read, { passive: true })
    return () => {
      observer.disconnect()
      element.removeEventListener('scroll', read)
    }
  }, [])
  return { ...view, read }
}

/**
 * The keys of a list: `/` to its filters, Enter or the down arrow from their fields to the first row, `j` and `k` or the arrows from
 * row to row, `x` to mark one.
 */
export function useRowKeys(
  {
    scroller,
    cursor,
    moveTo,
    isAwaited,
  }: {
    scroller: Scroller
    cursor: number
    moveTo: (index: number) => void
    /** Cleared by each key, for the reader does something else. */
    isAwaited: { current: boolean }
  },
  mark: (isRange: boolean) => void,
): void {
  useKeyDown((event) => {
    isAwaited.current = false
    const key = singleKey(event)
    const isIn = scroller.current?.contains(document.activeElement) ?? false
    const filters = scroller.current?.closest('.records')?.querySelector('.filters')
    const field = event.target
    if (field instanceof HTMLInputElement && filters?.contains(field)) {
      const isDown = event.key === 'ArrowDown' && /^(?:search|text)$/.test(field.type)
      if (event.key !== 'Enter' && !isDown) return
      event.preventDefault()
      moveTo(0)
    } else if (key === '/') {
      event.preventDefault()
      filters?.querySelector<HTMLElement>('input, select')?.focus()
    } else if (key === 'j' || (key === 'ArrowDown' && isIn)) {
      event.preventDefault()
      moveTo(isIn ? cursor + 1 : cursor)
    } else if (key === 'k' || (key === 'ArrowUp' && isIn)) {
      event.preventDefault()
      moveTo(cursor - 1)
    } else if (key === 'x' || key === 'X') mark(event.shiftKey)
  })
}
