import { signal } from '@preact/signals'
import type { ComponentChildren } from 'preact'
import { useEffect, useId, useRef, useState } from 'preact/hooks'

import { isError } from '../../../client/src/index.ts'
import { Field, Form } from './form.tsx'
import { Problem } from './load.tsx'
import { six } from './session.ts'

/** A dialog over the page; Escape closes it and the focus goes back to where it was. */
export function Dialog(props: {
  title: string
  close: () => void
  children: ComponentChildren
  wide?: boolean
}) {
  const ref = useRef<HTMLDialogElement>(null)
  const id = useId()
  useEffect(() => {
    const before = document.activeElement
    ref.current?.showModal()
    return () => before instanceof HTMLElement && before.focus()
  }, [])
  return (
    <dialog
      ref={ref}
      class={props.wide ? 'wide' : undefined}
      aria-labelledby={id}
      onCancel={(event) => {
        event.preventDefault()
        props.close()
      }}
    >
      <h2 id={id}>{props.title}</h2>
      {props.children}
    </dialog>
  )
}

type Opened = { id: number; render: (close: () => void) => ComponentChildren }

const opened = signal<readonly Opened[]>([])
let count = 0

/** Opens a dialog from anywhere; it stays until its `close` is called. */
export function openDialog(render: (close: () => void) => ComponentChildren): void {
  opened.value = [...opened.value, { id: ++count, render }]
}

/** Where dialogs of `openDialog` are shown. */
export const Dialogs = () => (
  <>
    {opened.value.map(({ id, render }) => (
      <div key={id}>{render(() => (opened.value = opened.value.filter((one) => one.id !== id)))}</div>
    ))}
  </>
)

/** What is asked before something that can't be undone. */
export type Question = {
  title: string
  /** What will happen, with the names of what it happens to. */
  children?: ComponentChildren
  /** The verb of the button: Delete. */
  verb: string
  /** What has to be typed first: the name of the record, or the number of records. */
  type?: string
  /** Whether Cancel has the focus first, not the button that does it. */
  isCancelFocused?: boolean
  /** Does it; the dialog stays open with the error if it rejects. */
  act: () => Promise<unknown>
}

/**
 * Asks before something is done to one record or to many.
 *
 * @example confirm({ title: `Delete ${name}?`, verb: 'Delete', type: String(found), act: () => six.call(…) })
 */
export const confirm = (question: Question): void =>
  openDialog((close) => <Confirm {...question} close={close} />)

function Confirm({
  title,
  children,
  verb,
  type,
  isCancelFocused,
  act,
  close,
}: Question & { close: () => void }) {
  const [text, setText] = useState('')
  const id = useId()
  return (
    <Dialog title={title} close={close}>
      <Form
        send={async () => {
          await act()
          close()
        }}
        submit={verb}
        isDangerous
        disabled={type !== undefined && text.trim() !== type}
        buttons={
          <button type="button" autoFocus={isCancelFocused} onClick={close}>
            Cancel
          </button>
        }
      >
        {children}
        {type !== undefined && (
          <div class="field">
            <label for={id}>
              Type <strong>{type}</strong> to continue
            </label>
            <input
              id={id}
              value={text}
              autoComplete="off"
              onInput={(event) => setText(event.currentTarget.value)}
            />
          </div>
        )}
      </Form>
    </Dialog>
  )
}

/**
 * Does what needs a recent sign-in: if the server asks for one, the reader confirms the password or a second factor, and it
 * is done again.
 *
 * @throws the error of the call; Error if the reader gives up
 * @example await withProof(() => six.call('POST /auth/keys', { body }))
 */
export async function withProof<T>(act: () => Promise<T>): Promise<T> {
  try {
    return await act()
  } catch (error) {
    if (!isError(error, 'RECENT_SIGN_IN_REQUIRED')) throw error
    await proveAgain()
    return act()
  }
}

const proveAgain = (): Promise<void> =>
  new Promise((resolve, reject) =>
    openDialog((close) => (
      <Proof
        proven={() => {
          close()
          resolve()
        }}
        close={() => {
          close()
          reject(new Error('Nothing was changed: this needs your password or a second factor again.'))
        }}
      />
    )),
  )

function Proof({ proven, close }: { proven: () => void; close: () => void }) {
  const [error, setError] = useState<unknown>()
  const passkey = () => void six.auth.confirm({ passkey: true }).then(proven, setError)
  return (
    <Dialog title="Confirm that it is you" close={close}>
      <Form
        send={async (value) => {
          const code = value('code')
          await six.auth.confirm(code ? { code } : { password: value('password') })
          proven()
        }}
        submit="Confirm"
        cancel={close}
      >
        <p class="soft">Enter your password or a second factor again.</p>
        <Field name="password" label="Password" type="password" autoComplete="current-password" autoFocus />
        <Field
          name="code"
          label="Or a code of your authenticator app"
          inputMode="numeric"
          autoComplete="one-time-code"
        />
        <button type="button" class="link" onClick={passkey}>
          Use a passkey
        </button>
        {error !== undefined && <Problem error={error} />}
      </Form>
    </Dialog>
  )
}
