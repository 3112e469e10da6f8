import type { ComponentChildren } from 'preact'
import { useId } from 'preact/hooks'

type DetailProps = {
  label: string
  /** The field that it is a detail of, for readers of a screen reader. */
  of: string
  hint?: string
  isLocked: boolean
}

function Labelled(
  props: Omit<DetailProps, 'isLocked'> & { control: (id: string, described?: string) => ComponentChildren },
) {
  const id = useId()
  return (
    <div class="field">
      <label for={id}>
        {props.label}
        <span class="quiet"> of {props.of}</span>
      </label>
      {props.control(id, props.hint && `${id}-hint`)}
      {props.hint && (
        <p id={`${id}-hint`} class="hint">
          {props.hint}
        </p>
      )}
    </div>
  )
}

/** A text of one line, or of several with `lines`; empty is undefined. */
export const DetailText = (
  props: DetailProps & { value: unknown; lines?: number; onValue: (text: string | undefined) => void },
) => (
  <Labelled
    {...props}
    control={(id, described) => {
      const common = {
        id,
        'aria-describedby': described,
        readOnly: props.isLocked,
        // Not the value: what is typed is not written again while it is read.
        defaultValue: typeof props.value === 'string' ? props.value : '',
        autoComplete: 'off',
        onInput: (event: { currentTarget: { value: string } }) =>
          props.onValue(event.currentTarget.value === '' ? undefined : event.currentTarget.value),
      }
      return props.lines ? <textarea {...common} rows={props.lines} /> : <input {...common} />
    }}
  />
)

/** A number; empty is undefined. */
export const DetailNumber = (
  props: DetailProps & { value: unknown; isWhole: boolean; onValue: (value: number | undefined) => void },
) => (
  <Labelled
    {...props}
    control={(id, described) => (
      <input
        id={id}
        type="number"
        step={props.isWhole ? 1 : 'any'}
        aria-describedby={described}
        readOnly={props.isLocked}
        defaultValue={typeof props.value === 'number' ? String(props.value) : ''}
        onInput={({ currentTarget: { value, valueAsNumber } }) =>
          props.onValue(value === '' || Number.isNaN(valueAsNumber) ? undefined : valueAsNumber)
        }
      />
    )}
  />
)

export const DetailSelect = (
  props: DetailProps & {
    value: string
    options: readonly (readonly [value: string, title: string])[]
    onValue: (value: string) => void
  },
) => (
  <Labelled
    {...props}
    control={(id, described) => (
      <select
        id={id}
        aria-describedby={described}
        disabled={props.isLocked}
        value={props.value}
        onChange={(event) => props.onValue(event.currentTarget.value)}
      >
        {props.options.map(([value, title]) => (
          <option key={value} value={value}>
            {title}
          </option>
        ))}
      </select>
    )}
  />
)

export const DetailCheck = (props: {
  label: string
  of: string
  isOn: boolean
  isLocked: boolean
  onCheck: (isOn: boolean) => void
}) => (
  <label class="check">
    <input
      type="checkbox"
      checked={props.isOn}
      disabled={props.isLocked}
      onChange={(event) => props.onCheck(event.currentTarget.checked)}
    />{' '}
    <span>
      {props.label}
      <span class="quiet"> ({props.of})</span>
    </span>
  </label>
)
