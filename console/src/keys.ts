import { useRef } from 'preact/hooks'

import { singleKey, useKeyDown } from './parts/keyboard.ts'
import { go, href } from './parts/router.tsx'
import type { Screen } from './screens.ts'

const SECOND_KEY_MS = 1500

/** The keys that work on every screen: Ctrl or Cmd and K, `?`, and `g` with the letter of a screen. */
export function useFrameKeys(screens: readonly Screen[], open: (dialog: 'palette' | 'keys') => void): void {
  const goUntil = useRef(0)
  const onKeyDown = (event: KeyboardEvent): void => {
    if ((event.ctrlKey || event.metaKey) && event.key.toLowerCase() === 'k') {
      event.preventDefault()
      return open('palette')
    }
    const key = singleKey(event)
    if (key === undefined) return
    const screen = Date.now() < goUntil.current ? screens.find((one) => one.key === key) : undefined
    goUntil.current = key === 'g' ? Date.now() + SECOND_KEY_MS : 0
    if (screen) {
      // The list must not take the letter as its own.
      event.preventDefault()
      event.stopImmediatePropagation()
      go(href([screen.name]))
    } else if (key === '?') open('keys')
  }
  // Before the keys of a list.
  useKeyDown(onKeyDown, { capture: true })
}
