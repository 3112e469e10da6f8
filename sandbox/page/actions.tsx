import { Choice, Field, Form } from '../../console/src/parts/form.tsx'
import { announce } from '../../console/src/parts/toast.tsx'
import { refresh } from './live.ts'
import { ask } from './server.ts'
import type { Part } from './where.ts'

type ActionField = { name: string; label: string } & (
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

/** A field of an action: a choice of values, each with its words. Its name is that of what is sent. */
export const choice = (
  name: string,
  label: string,
  options: Readonly<Record<string, string>>,
): ActionField => ({ name, label, options })

/** A field of an action: text that may be empty. */
export const text = (name: string, label: string, placeholder: string): ActionField => ({
  name,
  label,
  placeholder,
})

/** What can be done next, each as a form. */
export function Actions({ part, actions }: { part: Part; actions: readonly PageAction[] }) {
  async function run({ path, body, done }: PageAction, typed: string): Promise<void> {
    try {
      const answer = await ask<Record<string, unknown>>('POST', path, body?.(typed.trim()))
      announce(typeof done === 'string' ? done : done(answer))
    } finally {
      void refresh(part)
    }
  }
  function leave(form: HTMLFormElement): void {
    form.reset()
    // What was pressed will be gone, and what takes its place must not get the next press.
    document.querySelector<HTMLElement>(`#${part}-reader h2`)?.focus()
  }
  return (
    <div class="actions">
      {actions.map((action) => (
        <Form
          key={action.label}
          submit={action.label}
          isPlain={!action.isPrimary}
          send={(value) => run(action, action.field ? value(action.field.name) : '')}
          done={action.isRepeatable ? undefined : leave}
        >
          {action.field && <ActionControl field={action.field} />}
        </Form>
      ))}
    </div>
  )
}

const ActionControl = ({ field }: { field: ActionField }) =>
  'options' in field ? (
    <Choice name={field.name} label={field.label} options={Object.entries(field.options)} />
  ) : (
    <Field name={field.name} label={field.label} placeholder={field.placeholder} inputMode="decimal" />
  )
