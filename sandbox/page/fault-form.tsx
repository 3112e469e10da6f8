import { useEffect, useRef } from 'preact/hooks'

import { Check, Choice, Field, Form } from '../../console/src/parts/form.tsx'
import { messageOf } from '../../console/src/parts/load.tsx'
import { toast } from '../../console/src/parts/toast.tsx'

/** How a stand-in misbehaves; empty for not at all. */
export type SandboxFault = {
  delayMs?: number
  error?: number
  times?: number
  loseAnswer?: boolean
  callback?: string
}

const CALLBACKS = { '': 'normal', lost: 'lost', doubled: 'sent twice', late: 'late' }
const WEBHOOKS: Readonly<Record<string, string>> = { ...CALLBACKS, held: 'held' }
/** What can become of the callbacks of each provider that has any. */
const CALLBACKS_OF: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  mail: CALLBACKS,
  phone: CALLBACKS,
  cardpay: WEBHOOKS,
  walletpay: WEBHOOKS,
}

/** A fault in words. */
const inWords = ({ delayMs, error, loseAnswer, callback, times }: SandboxFault): string =>
  [
    delayMs && `answers after ${delayMs} ms`,
    error && `answers ${error}`,
    loseAnswer && 'loses its answer',
    callback && `callback ${WEBHOOKS[callback] ?? callback}`,
    times && `for ${times} ${times === 1 ? 'call' : 'calls'}`,
  ]
    .filter(Boolean)
    .join(', ')

function typedIn(value: (name: string) => string): SandboxFault {
  const [delayMs, error, times, callback] = ['delayMs', 'error', 'times', 'callback'].map(value)
  return {
    ...(delayMs && { delayMs: Number(delayMs) }),
    ...(error && { error: Number(error) }),
    ...(value('loseAnswer') && { loseAnswer: true }),
    ...(callback && { callback }),
    ...(times && { times: Number(times) }),
  }
}

/**
 * The form that sets a fault of a provider. What is typed in it stays until another fault is in force.
 *
 * @param props.set an empty fault removes it
 */
export function FaultForm(props: {
  name: string
  fault: SandboxFault
  set: (fault: SandboxFault) => Promise<void>
}) {
  const { name, fault, set } = props
  const details = useRef<HTMLDetailsElement>(null)
  const words = inWords(fault)
  useEffect(() => {
    if (words !== '') details.current!.open = true
  }, [words])
  const remove = () => void set({}).catch((error: unknown) => toast(messageOf(error), { tone: 'bad' }))
  return (
    <details ref={details}>
      <summary>Faults</summary>
      {words !== '' && <p class="notice warning">In force: {words}</p>}
      <Form
        key={JSON.stringify(fault)}
        submit="Set"
        send={async (value) => set(typedIn(value))}
        buttons={
          <button type="button" disabled={words === ''} onClick={remove}>
            Remove
          </button>
        }
      >
        <Numbered name="delayMs" label="Delay in ms" min={0} max={60_000} value={fault.delayMs} />
        <Numbered
          name="error"
          label={name === 'mail' ? 'SMTP code' : 'HTTP status'}
          min={400}
          max={599}
          value={fault.error}
        />
        <Numbered name="times" label="Calls" min={1} placeholder="all" value={fault.times} />
        {CALLBACKS_OF[name] && (
          <Choice
            name="callback"
            label="Callback"
            options={Object.entries(CALLBACKS_OF[name])}
            defaultValue={fault.callback ?? ''}
          />
        )}
        <Check name="loseAnswer" label="Lose the answer" defaultChecked={fault.loseAnswer === true} />
      </Form>
    </details>
  )
}

const Numbered = ({
  value,
  placeholder = 'none',
  ...field
}: {
  name: string
  label: string
  min: number
  max?: number
  placeholder?: string
  value: number | undefined
}) => (
  <Field
    {...field}
    type="number"
    inputMode="numeric"
    placeholder={placeholder}
    defaultValue={value === undefined ? '' : String(value)}
  />
)
