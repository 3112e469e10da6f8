import {
  createContext,
  type ComponentChildren,
  type TargetedInputEvent,
  type TargetedSubmitEvent,
} from 'preact'
import { useContext, useId, useState } from 'preact/hooks'

import { isError } from '../../../client/src/index.ts'
import { Problem } from './load.tsx'

type Issue = { path: string; message: string }

/** What the server says of each field, by its JSON pointer in the body: `/email`. https://www.rfc-editor.org/rfc/rfc6901 */
const Issues = createContext<readonly Issue[]>([])

/** The issues of a VALIDATION_ERROR, by pointers within the body. */
function issuesOf(error: unknown): readonly Issue[] {
  if (!isError(error, 'VALIDATION_ERROR')) return []
  const { issues = [] } = (error.details ?? {}) as { issues?: readonly Issue[] }
  return issues.map(({ path, message }) => ({ path: path.replace(/^\/body/, ''), message }))
}

export type FormState = {
  isBusy: boolean
  error: unknown
  /** The names of the fields that the form had when the error came: each shows its own issue. */
  fields?: ReadonlySet<string>
}

/**
 * A form that sends what was typed, shows the server's issues at their fields, and keeps what was typed after an error.
 *
 * @param props.send the call; rejects with its error
 * @example
 * <Form send={async (value) => six.call('POST /auth/users', { body: { email: value('email') } })} submit="Create">
 *   <Field name="email" label="Email address" type="email" required />
 * </Form>
 */
export function Form(props: {
  /** `value` returns what a field holds as text, empty if it is not there. */
  send: (value: (name: string) => string, all: FormData) => Promise<unknown>
  submit: string
  children: ComponentChildren
  /** Further buttons beside that to submit. */
  buttons?: ComponentChildren
  /** Leaves the form: it gets a button for that. */
  cancel?: () => void
  isDangerous?: boolean
  /** Whether the button is one of several that are alike. */
  isPlain?: boolean
  disabled?: boolean
  label?: string
  /** Called once all is sent, to clear the form or to move the focus. */
  done?: ((form: HTMLFormElement) => void) | undefined
}) {
  const [{ isBusy, error, fields }, setState] = useState<FormState>({ isBusy: false, error: undefined })
  const issues = issuesOf(error)
  const unnamed = issues.filter(({ path }) => !fields?.has(path.slice(1)))
  function submit(event: TargetedSubmitEvent<HTMLFormElement>): void {
    event.preventDefault()
    if (isBusy) return
    const form = event.currentTarget
    setState({ isBusy: true, error: undefined })
    const all = new FormData(form)
    const value = (name: string): string => {
      const entry = all.get(name)
      return typeof entry === 'string' ? entry : ''
    }
    props.send(value, all).then(
      () => {
        setState({ isBusy: false, error: undefined })
        props.done?.(form)
      },
      (error: unknown) => {
        const fields = new Set(
          Array.from(form.querySelectorAll('div.field [name]'), (one) => one.getAttribute('name')!),
        )
        setState({ isBusy: false, error, fields })
        requestAnimationFrame(() => form.querySelector<HTMLElement>('[aria-invalid="true"]')?.focus())
      },
    )
  }
  return (
    <Issues.Provider value={issues}>
      <form class="form" aria-label={props.label} onSubmit={submit}>
        {props.children}
        {error !== undefined && issues.length === 0 && <Problem error={error} />}
        {unnamed.length > 0 && <UnnamedIssues issues={unnamed} />}
        <div class="buttons">
          {/* While it is busy it keeps the focus, which a disabled button would lose. */}
          <button
            class={props.isDangerous ? 'dangerous' : props.isPlain ? undefined : 'primary'}
            disabled={props.disabled}
            aria-disabled={isBusy}
          >
            {isBusy ? 'Working…' : props.submit}
          </button>
          {props.buttons}
          {props.cancel && (
            <button type="button" onClick={props.cancel}>
              Cancel
            </button>
          )}
        </div>
      </form>
    </Issues.Provider>
  )
}

/** The issues in words, for those whose field the form does not have. */
const UnnamedIssues = ({ issues }: { issues: readonly Issue[] }) => (
  <div class="notice bad" role="alert">
    <ul>
      {issues.map(({ path, message }) => (
        <li key={path + message}>
          {path.slice(1) && <code>{path.slice(1)}</code>} {message}
        </li>
      ))}
    </ul>
  </div>
)

type FieldProps = {
  /** The name of the value, and its JSON pointer without the first slash: `address/city`. */
  name: string
  label: string
  hint?: ComponentChildren
}

/** The label, hint and issue of a field around its control. */
function Labelled(
  props: FieldProps & {
    control: (attributes: Record<'id' | 'aria-describedby' | 'aria-invalid', never>) => ComponentChildren
  },
) {
  const id = useId()
  const issue = useContext(Issues).find(({ path }) => path === `/${props.name}`)
  const described = [props.hint && `${id}-hint`, issue && `${id}-issue`].filter(Boolean).join(' ')
  const attributes = {
    id,
    'aria-describedby': described || undefined,
    'aria-invalid': issue ? 'true' : undefined,
  }
  return (
    <div class="field">
      <label for={id}>{props.label}</label>
      {props.control(attributes as never)}
      {props.hint && (
        <p id={`${id}-hint`} class="hint">
          {props.hint}
        </p>
      )}
      {issue && (
        <p id={`${id}-issue`} class="fault">
          {/^[A-Z]/.test(issue.message) ? issue.message : `It ${issue.message}.`}
        </p>
      )}
    </div>
  )
}

type ControlProps = {
  required?: boolean
  disabled?: boolean
  autoFocus?: boolean
}

type InputProps = ControlProps & {
  type?: 'text' | 'email' | 'password' | 'search' | 'tel' | 'url' | 'number' | 'date' | 'datetime-local'
  autoComplete?: string
  inputMode?: 'text' | 'numeric' | 'decimal' | 'email' | 'tel' | 'url'
  defaultValue?: string | number
  placeholder?: string
  maxLength?: number
  min?: number | string
  max?: number | string
  step?: number | 'any'
  pattern?: string
  /** Called with what is typed. */
  onText?: (text: string) => void
}

/** A field of one line, or of several with `lines`. */
export function Field(props: FieldProps & InputProps & { lines?: number }) {
  const { name, label, hint, lines, onText, type, ...rest } = props
  const onInput = (event: TargetedInputEvent<HTMLInputElement | HTMLTextAreaElement>) =>
    onText?.(event.currentTarget.value)
  return (
    <Labelled
      name={name}
      label={label}
      hint={hint}
      control={(attributes) =>
        lines ? (
          <textarea
            {...attributes}
            name={name}
            rows={lines}
            required={rest.required}
            disabled={rest.disabled}
            defaultValue={rest.defaultValue === undefined ? undefined : String(rest.defaultValue)}
            placeholder={rest.placeholder}
            maxLength={rest.maxLength}
            onInput={onInput}
          />
        ) : (
          <input
            {...attributes}
            {...({ type } as { type: 'text' })}
            name={name}
            autoComplete="off"
            {...rest}
            onInput={onInput}
          />
        )
      }
    />
  )
}

/** A choice of one of several. */
export function Choice(
  props: FieldProps &
    ControlProps & {
      options: readonly (readonly [value: string, title: string])[]
      defaultValue?: string
      onChoice?: (value: string) => void
    },
) {
  const { name, label, hint, options, onChoice, defaultValue, ...rest } = props
  return (
    <Labelled
      name={name}
      label={label}
      hint={hint}
      control={(attributes) => (
        <select
          {...attributes}
          name={name}
          {...rest}
          onChange={(event) => onChoice?.(event.currentTarget.value)}
        >
          {options.map(([value, title]) => (
            <option key={value} value={value} selected={value === defaultValue}>
              {title}
            </option>
          ))}
        </select>
      )}
    />
  )
}

/** A box to tick; its value in the form is `true` or absent. */
export function Check(
  props: ControlProps & {
    name: string
    label: ComponentChildren
    defaultChecked?: boolean
    onCheck?: (isOn: boolean) => void
  },
) {
  const { label, onCheck, ...rest } = props
  return (
    <label class="check">
      <input
        type="checkbox"
        value="true"
        {...rest}
        onChange={(event) => onCheck?.(event.currentTarget.checked)}
      />{' '}
      {label}
    </label>
  )
}
