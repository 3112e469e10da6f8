import type { TargetedSubmitEvent } from 'preact'
import { useRef, useState } from 'preact/hooks'

import { announce } from '../../console/src/parts/toast.tsx'
import { refresh } from './live.ts'
import { ask } from './server.ts'
import type { Part } from './where.ts'

type ActionField = { label: string } & (
  | { options: Readonly<Record<string, string>> }
  | { placeholder: string }
)

/** What can be done next with something. */
export type PageAction = {
  label: string
  /** Below `/sandbox/api`. */
  path: string
  /** What is said once it is done. */
  done: string | ((answer: Record<string, unknown>) => string)
  /** What is sent; it gets what is in the field. */
  body?: (value: string) => unknown
  isPrimary?: boolean
  /** It stays, and so does the focus. */
  isRepeatable?: boolean
  field?: ActionField
}

/** A field of an action: a choice of values, each with its words. */
export const choice = (label: string, options: Readonly<Record<string, string>>): ActionField => ({
  label,
  options,
})

/** A field of an action: text that may be empty. */
export const text = (label: string, placeholder: string): ActionField => ({ label, placeholder })

type Failure = { label: string; message: string }

/** What can be done next, each as a form. */
export function Actions({ part, actions }: { part: Part; actions: readonly PageAction[] }) {
  const [failure, setFailure] = useState<Failure>()
  const isBusy = useRef(false)
  const problemId = `${part}-problem`

  async function run(action: PageAction, form: HTMLFormElement): Promise<void> {
    if (isBusy.current) return
    isBusy.current = true
    setFailure(undefined)
    const typed = new FormData(form).get('value')
    try {
      const answer = await ask<Record<string, unknown>>(
        'POST',
        action.path,
        action.body?.(typeof typed === 'string' ? typed.trim() : ''),
      )
      announce(typeof action.done === 'string' ? action.done : action.done(answer))
      if (!action.isRepeatable) {
        form.reset()
        // What was pressed will be gone, and what takes its place must not get the next press.
        document.querySelector<HTMLElement>(`#view-${part} .reader h3`)?.focus()
      }
    } catch (error) {
      setFailure({ label: action.label, message: (error as Error).message })
    }
    isBusy.current = false
    await refresh(part)
  }

  return (
    <div class="actions">
      {actions.map((action) => (
        <ActionForm
          key={action.label}
          id={`${part}-action-${action.label.toLowerCase().replaceAll(/\W+/g, '-')}`}
          action={action}
          problemId={problemId}
          failure={failure?.label === action.label ? failure.message : undefined}
          run={run}
        />
      ))}
    </div>
  )
}

function ActionForm(props: {
  id: string
  action: PageAction
  problemId: string
  failure: string | undefined
  run: (action: PageAction, form: HTMLFormElement) => Promise<void>
}) {
  const { id, action, problemId, failure, run } = props
  const { field, label, isPrimary } = action
  const isInvalid = failure !== undefined && field !== undefined
  const control = {
    id,
    name: 'value',
    'aria-invalid': isInvalid,
    'aria-describedby': isInvalid ? problemId : undefined,
  }
  function submit(event: TargetedSubmitEvent<HTMLFormElement>): void {
    event.preventDefault()
    void run(action, event.currentTarget)
  }
  return (
    <form class="action" onSubmit={submit}>
      {field && <label for={id}>{field.label}</label>}
      {field &&
        ('options' in field ? (
          <select {...control}>
            {Object.entries(field.options).map(([value, words]) => (
              <option key={value} value={value}>
                {words}
              </option>
            ))}
          </select>
        ) : (
          <input {...control} placeholder={field.placeholder} inputMode="decimal" autoComplete="off" />
        ))}
      {failure !== undefined && (
        <p class="fault" role="alert" id={problemId}>
          {failure}
        </p>
      )}
      <button class={isPrimary ? 'primary' : ''}>{label}</button>
    </form>
  )
}
