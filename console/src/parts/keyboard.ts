import { signal } from '@preact/signals'
import { useLayoutEffect, useRef } from 'preact/hooks'

const STORED = 'sixwire console: single keys'

/** Whether keys without Ctrl or Cmd do anything; people who speak their input switch them off (WCAG 2.1.4). */
export const singleKeys = signal(localStorage.getItem(STORED) !== 'off')
singleKeys.subscribe((isOn) => localStorage.setItem(STORED, isOn ? 'on' : 'off'))

/** Whether a key is typed into a field, or pressed while a dialog is open. */
export const isTyped = (event: KeyboardEvent): boolean => {
  const target = event.composedPath()[0]
  return (
    target instanceof HTMLElement &&
    (target.isContentEditable ||
      /^(?:TEXTAREA|SELECT)$/.test(target.tagName) ||
      (target instanceof HTMLInputElement && !/^(?:checkbox|radio|button)$/.test(target.type)))
  )
}

/** The key of an event if it is a single one that may do something now: `j`, `/`, `Enter`; undefined otherwise. */
export function singleKey(event: KeyboardEvent): string | undefined {
  if (event.ctrlKey || event.metaKey || event.altKey || event.defaultPrevented || isTyped(event)) return
  if (document.querySelector('dialog[open]')) return
  return event.key.length > 1 || singleKeys.value ? event.key : undefined
}

/**
 * Calls `handle`, as it was rendered last, for each key, from the moment on at which the page shows what it belongs to: a plain
 * effect comes a frame later, and who types at once loses a key.
 *
 * @param options `capture`: before those who listen without
 */
export function useKeyDown(
  handle: (event: KeyboardEvent) => void,
  { capture = false }: { capture?: boolean } = {},
): void {
  const latest = useRef(handle)
  latest.current = handle
  useLayoutEffect(() => {
    const onKeyDown = (event: KeyboardEvent): void => latest.current(event)
    document.addEventListener('keydown', onKeyDown, { capture })
    return () => document.removeEventListener('keydown', onKeyDown, { capture })
  }, [])
}
