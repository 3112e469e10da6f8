import type { ComponentChildren } from 'preact'
import { useCallback, useEffect, useRef, useState } from 'preact/hooks'

import { isError } from '../../../client/src/index.ts'
import { toast } from './toast.tsx'

export type Loaded<T> = {
  /** What was loaded last; it stays while it is loaded again. */
  value: T | undefined
  error: unknown
  isLoading: boolean
  again: () => void
}

/**
 * Loads what a component shows, again whenever `deps` change. What an earlier load still waits for is cancelled. An error that
 * the component does not read is shown as a toast.
 *
 * @example const jobs = useLoad((signal) => six.call('GET /core/jobs', { query, signal }), [state])
 */
export function useLoad<T>(load: (signal: AbortSignal) => Promise<T>, deps: readonly unknown[]): Loaded<T> {
  const [state, setState] = useState<Omit<Loaded<T>, 'again'>>({
    value: undefined,
    error: undefined,
    isLoading: true,
  })
  const [attempt, setAttempt] = useState(0)
  const again = useCallback(() => setAttempt((at) => at + 1), [])
  const isRead = useRef(false)
  useEffect(() => {
    const controller = new AbortController()
    setState((before) => ({ ...before, isLoading: true }))
    load(controller.signal).then(
      (value) => controller.signal.aborted || setState({ value, error: undefined, isLoading: false }),
      (error: unknown) =>
        controller.signal.aborted || setState((before) => ({ ...before, error, isLoading: false })),
    )
    return () => controller.abort()
  }, [...deps, attempt])
  useEffect(() => {
    if (state.error !== undefined && !isRead.current) toast(messageOf(state.error), { tone: 'bad' })
  }, [state.error])
  return {
    ...state,
    get error() {
      isRead.current = true
      return state.error
    },
    again,
  }
}

/** What a person reads of an error. */
export function messageOf(error: unknown): string {
  if (isError(error)) return error.message
  if (error instanceof TypeError) return 'The server does not answer.'
  return error instanceof Error ? error.message : String(error)
}

/** What is no fault, and does not go away by trying again. */
const EXPECTED: Readonly<Record<string, string>> = {
  FORBIDDEN: 'Your role may not see this.',
  PROVIDER_NOT_CONFIGURED: 'This is not set up.',
}

/** An error with a button to try again, and the id under which the server's log has it. */
export function Problem({ error, again }: { error: unknown; again?: () => void }) {
  const expected = isError(error) ? EXPECTED[error.code] : undefined
  const requestId = isError(error) ? error.headers.get('x-request-id') : null
  return (
    <div class={expected ? 'notice' : 'notice bad'} role="alert">
      <p>
        <strong>{expected ?? 'This did not work.'}</strong> {messageOf(error)}
      </p>
      {requestId && !expected && (
        <p class="soft">
          Request <code>{requestId}</code>
        </p>
      )}
      {again && !expected && (
        <button class="small" type="button" onClick={again}>
          Try again
        </button>
      )}
    </div>
  )
}

/** What was loaded, or its error, or a note while it is loaded for the first time. */
export function Show<T>(props: { of: Loaded<T>; children: (value: T) => ComponentChildren }) {
  const { value, error, again } = props.of
  if (error !== undefined) return <Problem error={error} again={again} />
  if (value === undefined)
    return (
      <p class="loading" role="status">
        Loading…
      </p>
    )
  return <>{props.children(value)}</>
}
