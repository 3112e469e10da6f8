import { useSignalEffect, useSignal } from '@preact/signals'
import { useLayoutEffect } from 'preact/hooks'

import { installation, unlock } from './parts/installation.ts'
import { production, unlockedUntil, user } from './parts/session.ts'
import { Text } from './parts/text.tsx'
import { Icon, Mark } from './icons.tsx'

/** The name of the installation and its environment, the search, and in production whether it may be changed. */
export function Environment({ search }: { search: () => void }) {
  const isProduction = production.value
  useLayoutEffect(() => {
    document.documentElement.dataset['environment'] = isProduction ? 'production' : 'development'
  }, [isProduction])
  return (
    <header class="environment">
      <Mark />
      <p class="installation">
        <strong>
          <Text>{installation.value?.name ?? ''}</Text>
        </strong>{' '}
        <span>{isProduction ? 'production' : 'development'}</span>
      </p>
      <button type="button" class="search" onClick={search}>
        <Icon of="search" /> <span>Search</span> <kbd>Ctrl K</kbd>
      </button>
      <Lock />
    </header>
  )
}

/** In production nothing can be changed until an administrator says so, for 30 minutes. */
function Lock() {
  const minutesLeft = useMinutesLeft()
  if (user.value?.role === 'viewer') return <span class="lock">Read-only: your role is viewer</span>
  if (!production.value) return null
  return minutesLeft === 0 ? (
    <button type="button" class="lock" onClick={() => unlock(true)}>
      Read-only: allow changes
    </button>
  ) : (
    <button type="button" class="lock open" onClick={() => unlock(false)}>
      Changes allowed, {minutesLeft} min: lock
    </button>
  )
}

/** How many minutes changes are allowed for; 0 if they are not. */
function useMinutesLeft(): number {
  const minutesLeft = useSignal(0)
  useSignalEffect(() => {
    const until = unlockedUntil.value
    const count = () => (minutesLeft.value = Math.max(0, Math.ceil((until - Date.now()) / 60_000)))
    count()
    if (until === 0) return
    const timer = setInterval(count, 10_000)
    return () => clearInterval(timer)
  })
  return minutesLeft.value
}
