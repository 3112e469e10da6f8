import { useCallback, useEffect, useRef, useState } from 'preact/hooks'

import { isError } from '../../../client/src/index.ts'

/** One page of a list: its rows and where the next begins. */
export type RowPage<T> = { rows: readonly T[]; nextCursor?: string | undefined }

/** Loads a page; without a cursor the first. */
export type LoadRows<T> = (input: { cursor: string | undefined; signal: AbortSignal }) => Promise<RowPage<T>>

export type Rows<T> = {
  rows: readonly T[]
  error: unknown
  isLoading: boolean
  /** Whether nothing was loaded yet. */
  isFirst: boolean
  hasMore: boolean
  more: () => void
  again: () => void
}

type State<T> = Pick<Rows<T>, 'rows' | 'error' | 'isLoading' | 'isFirst'> & { nextCursor: string | undefined }

const LIVE_MS = 2_000

/**
 * The rows of a list, page after page, loaded anew whenever `deps` change.
 *
 * @param isLive asks for the first page every two seconds while the page is visible; new rows come first
 */
export function useRows<T>(
  load: LoadRows<T>,
  idOf: (row: T) => string,
  deps: readonly unknown[],
  isLive: boolean,
): Rows<T> {
  const [state, setState] = useState<State<T>>({
    rows: [],
    error: undefined,
    isLoading: true,
    isFirst: true,
    nextCursor: undefined,
  })
  const [attempt, setAttempt] = useState(0)
  const again = useCallback(() => setAttempt((at) => at + 1), [])
  const latest = useRef({ load, idOf })
  latest.current = { load, idOf }
  const controller = useRef(new AbortController())

  const fetchPage = useCallback(async (kind: 'first' | 'more' | 'live', cursor?: string) => {
    const { signal } = controller.current
    if (kind !== 'live') setState((before) => ({ ...before, isLoading: true, error: undefined }))
    try {
      const page = await latest.current.load({ cursor, signal })
      if (signal.aborted) return
      setState((before) => {
        const { rows, nextCursor } = merged(kind, before, page, latest.current.idOf)
        return { rows, nextCursor, error: undefined, isLoading: false, isFirst: false }
      })
    } catch (error) {
      // A live list whose connection is lost tries again by itself.
      if (!signal.aborted && (kind !== 'live' || isError(error)))
        setState((before) => ({ ...before, error, isLoading: false }))
    }
  }, [])

  useEffect(() => {
    controller.current = new AbortController()
    void fetchPage('first')
    return () => controller.current.abort()
  }, [...deps, attempt])

  useEffect(() => {
    if (!isLive) return
    let timer: ReturnType<typeof setTimeout>
    const next = () => {
      timer = setTimeout(() => {
        if (document.hidden) next()
        else void fetchPage('live').finally(next)
      }, LIVE_MS)
    }
    next()
    return () => clearTimeout(timer)
  }, [isLive])

  return {
    ...state,
    hasMore: state.nextCursor !== undefined,
    more: () =>
      void (!state.isLoading && state.nextCursor !== undefined && fetchPage('more', state.nextCursor)),
    again,
  }
}

/** What is loaded once a page has come: a live page replaces the newest rows and keeps the older ones. */
function merged<T>(
  kind: 'first' | 'more' | 'live',
  before: State<T>,
  page: RowPage<T>,
  idOf: (row: T) => string,
): { rows: readonly T[]; nextCursor: string | undefined } {
  if (kind === 'first') return { rows: page.rows, nextCursor: page.nextCursor }
  const had = new Set((kind === 'more' ? before.rows : page.rows).map(idOf))
  const others = (kind === 'more' ? page.rows : before.rows).filter((row) => !had.has(idOf(row)))
  if (kind === 'more') return { rows: [...before.rows, ...others], nextCursor: page.nextCursor }
  // All there is fits on the first page: what it lacks is gone.
  if (page.nextCursor === undefined) return { rows: page.rows, nextCursor: undefined }
  return { rows: [...page.rows, ...others], nextCursor: before.nextCursor ?? page.nextCursor }
}
