import { useEffect, useRef, useState } from 'preact/hooks'

import { fetchWithToken, serverUrl } from '../../parts/session.ts'
import type { ShownLog } from './entry.tsx'

/** What is held in memory: the newest. */
const ENTRIES_MAX = 500
const AGAIN_MS = 2_000

export type Followed = {
  /** Newest first. */
  entries: readonly ShownLog[]
  isConnected: boolean
  /** How many came while it was paused. */
  waiting: number
  /** Why it is not connected. */
  error: unknown
  clear: () => void
}

/** Follows the log by its event stream. A hidden tab is not connected. */
export function useFollow(query: string, isPaused: boolean): Followed {
  const [{ entries, isConnected, waiting, error }, setState] = useState<Omit<Followed, 'clear'>>({
    entries: [],
    isConnected: false,
    waiting: 0,
    error: undefined,
  })
  const held = useRef<ShownLog[]>([])
  const paused = useRef(isPaused)
  paused.current = isPaused

  const take = (fresh: readonly ShownLog[]) => {
    held.current = merged(held.current, fresh)
    setState((before) =>
      paused.current
        ? { ...before, waiting: Math.min(before.waiting + fresh.length, ENTRIES_MAX) }
        : { ...before, entries: held.current, waiting: 0 },
    )
  }
  useEffect(() => {
    if (!isPaused) take([])
  }, [isPaused])

  useEffect(() => {
    held.current = []
    setState({ entries: [], isConnected: false, waiting: 0, error: undefined })
    let controller = new AbortController()
    let timer: ReturnType<typeof setTimeout>
    const isConnectedNow = (is: boolean) =>
      setState((before) => ({ ...before, isConnected: is, ...(is && { error: undefined }) }))
    const connect = () => {
      controller = new AbortController()
      const { signal } = controller
      void readEvents(query, held.current[0]?._id, signal, take, () => isConnectedNow(true))
        .catch((error: unknown) => signal.aborted || setState((before) => ({ ...before, error })))
        .finally(() => {
          isConnectedNow(false)
          if (!signal.aborted) timer = setTimeout(connect, AGAIN_MS)
        })
    }
    const onVisibility = () => {
      clearTimeout(timer)
      controller.abort()
      if (!document.hidden) connect()
    }
    connect()
    document.addEventListener('visibilitychange', onVisibility)
    return () => {
      clearTimeout(timer)
      controller.abort()
      document.removeEventListener('visibilitychange', onVisibility)
    }
  }, [query])

  const clear = () => {
    held.current = []
    setState((before) => ({ ...before, entries: [], waiting: 0 }))
  }
  return { entries, isConnected, waiting, error, clear }
}

/** The newest of both, newest first; an entry may come twice. */
function merged(before: readonly ShownLog[], fresh: readonly ShownLog[]): ShownLog[] {
  const known = new Set(before.map(({ _id }) => _id))
  return [...before, ...fresh.filter(({ _id }) => !known.has(_id))]
    .toSorted((a, b) => (a._id < b._id ? 1 : -1))
    .slice(0, ENTRIES_MAX)
}

/** Reads server-sent events until the stream ends. */
async function readEvents(
  query: string,
  after: string | undefined,
  signal: AbortSignal,
  take: (entries: readonly ShownLog[]) => void,
  opened: () => void,
): Promise<void> {
  const headers: Record<string, string> = after === undefined ? {} : { 'last-event-id': after }
  const response = await fetchWithToken(`${serverUrl}/core/logs/stream?${query}`, { headers, signal })
  if (!response.ok || !response.body) throw new Error(`The server answered ${response.status}.`)
  opened()
  let rest = ''
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader()
  for (;;) {
    const { done, value } = await reader.read()
    if (done) return
    const events = (rest + value).split('\n\n')
    rest = events.pop()!
    const entries = events.flatMap((event) => {
      const [, json] = /^event: entry\n(?:id: .*\n)?data: (.*)$/s.exec(event) ?? []
      return json === undefined ? [] : [JSON.parse(json) as ShownLog]
    })
    if (entries.length > 0) take(entries)
  }
}
