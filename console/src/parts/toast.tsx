import { signal } from '@preact/signals'

type Toast = { id: number; text: string; undo: (() => Promise<unknown>) | undefined; tone: 'plain' | 'bad' }

const UNDO_MS = 10_000
const SHOWN_MS = 4_000

const toasts = signal<readonly Toast[]>([])
/** What a screen reader says next. */
const spoken = signal('')
let count = 0

/** Says something to readers of a screen reader only, such as how many rows there are. */
export const announce = (text: string): void => void (spoken.value = text)

/**
 * Shows for a moment that something was done.
 *
 * @param undo takes it back; offered for 10 seconds
 */
export function toast(
  text: string,
  options: { undo?: () => Promise<unknown>; tone?: 'plain' | 'bad' } = {},
): void {
  const { undo, tone = 'plain' } = options
  const id = ++count
  toasts.value = [...toasts.value.slice(-2), { id, text, undo, tone }]
  setTimeout(() => dismiss(id), undo ? UNDO_MS : SHOWN_MS)
}

const dismiss = (id: number): void => void (toasts.value = toasts.value.filter((one) => one.id !== id))

function takeBack({ id, undo }: Toast): void {
  dismiss(id)
  void undo?.().then(
    () => toast('Undone.'),
    (error: unknown) => toast((error as Error).message, { tone: 'bad' }),
  )
}

/** Where toasts are shown, and the live region of the page. */
export const Toasts = () => (
  <>
    <p id="announcer" class="quiet" role="status" aria-live="polite">
      {spoken.value}
    </p>
    <div class="toasts" role="status">
      {toasts.value.map((one) => (
        <div key={one.id} class={one.tone}>
          <span>{one.text}</span>
          {one.undo && (
            <button type="button" class="link" onClick={() => takeBack(one)}>
              Undo
            </button>
          )}
          <button type="button" class="plain small" aria-label="Dismiss" onClick={() => dismiss(one.id)}>
            ×
          </button>
        </div>
      ))}
    </div>
  </>
)
