import type { TargetedSubmitEvent } from 'preact'
import { useEffect, useRef, useState } from 'preact/hooks'

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

function typedIn(form: HTMLFormElement): SandboxFault {
  const values = Object.fromEntries(new FormData(form)) as Record<string, string>
  const { delayMs, error, times, callback } = values
  return {
    ...(delayMs && { delayMs: Number(delayMs) }),
    ...(error && { error: Number(error) }),
    ...(values['loseAnswer'] && { loseAnswer: true }),
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
  const [failure, setFailure] = useState('')
  const details = useRef<HTMLDetailsElement>(null)
  const words = inWords(fault)
  useEffect(() => {
    if (words !== '') details.current!.open = true
  }, [words])

  const change = (next: SandboxFault) =>
    void set(next).then(
      () => setFailure(''),
      (error: unknown) => setFailure((error as Error).message),
    )
  function submit(event: TargetedSubmitEvent<HTMLFormElement>): void {
    event.preventDefault()
    change(typedIn(event.currentTarget))
  }

  return (
    <details ref={details}>
      <summary>Faults</summary>
      {words !== '' && <p class="in-force">In force: {words}</p>}
      <form class="fields" key={JSON.stringify(fault)} onSubmit={submit}>
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
          <label>
            Callback
            <select name="callback">
              {Object.entries(CALLBACKS_OF[name]).map(([value, title]) => (
                <option key={value} value={value} selected={value === (fault.callback ?? '')}>
                  {title}
                </option>
              ))}
            </select>
          </label>
        )}
        <label class="check">
          <input name="loseAnswer" type="checkbox" defaultChecked={fault.loseAnswer === true} />
          Lose the answer
        </label>
        <span class="buttons">
          <button class="primary">Set</button>
          <button type="button" disabled={words === ''} onClick={() => change({})}>
            Remove
          </button>
        </span>
      </form>
      {failure !== '' && (
        <p class="fault" role="alert">
          {failure}
        </p>
      )}
    </details>
  )
}

const Numbered = (props: {
  name: string
  label: string
  min: number
  max?: number
  placeholder?: string
  value: number | undefined
}) => (
  <label>
    {props.label}
    <input
      name={props.name}
      type="number"
      inputMode="numeric"
      min={props.min}
      max={props.max}
      placeholder={props.placeholder ?? 'none'}
      defaultValue={props.value === undefined ? '' : String(props.value)}
    />
  </label>
)
