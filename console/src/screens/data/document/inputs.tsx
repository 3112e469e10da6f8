import { useId, useLayoutEffect, useRef } from 'preact/hooks'

import { faultOfName, readJson } from '../../../parts/json-text.ts'
import { hasInvisible, Text } from '../../../parts/text.tsx'
import { isMoment, type TreeNode } from './tree.ts'

const LONG_TEXT = 10_000

/** The name of a field, with what is wrong with it. */
export function NameInput(props: {
  name: string
  path: string
  isTwice: boolean
  hasFocus: boolean
  isReadOnly: boolean
  onName: (name: string) => void
}) {
  const { name, path, isTwice, hasFocus, isReadOnly, onName } = props
  const id = useId()
  const ref = useRef<HTMLInputElement>(null)
  // Before the next key: what is typed then goes into it.
  useLayoutEffect(() => {
    if (hasFocus) ref.current?.focus()
  }, [])
  const fault = isTwice ? 'This name is there twice.' : faultOfName(name)
  return (
    <span class="name">
      <input
        ref={ref}
        value={name}
        aria-label={`Name of ${path || 'the new field'}`}
        aria-invalid={fault ? 'true' : undefined}
        aria-describedby={fault ? id : undefined}
        autoComplete="off"
        spellcheck={false}
        readOnly={isReadOnly}
        onInput={(event) => onName(event.currentTarget.value)}
      />
      {fault && (
        <span id={id} class="fault">
          {fault}
        </span>
      )}
      {hasInvisible(name) && (
        <span class="hint">
          <Text>{name}</Text>
        </span>
      )}
    </span>
  )
}

type ControlProps = {
  node: TreeNode
  label: string
  isReadOnly: boolean
  onChange: (node: TreeNode) => void
}

/** The input of a value that is no object or array. */
export function Control({ node, label, isReadOnly, onChange }: ControlProps) {
  const name = `Value of ${label}`
  switch (node.type) {
    case 'boolean':
      return (
        <label class="check">
          <input
            type="checkbox"
            aria-label={name}
            checked={node.isTrue}
            disabled={isReadOnly}
            onChange={(event) => onChange({ ...node, isTrue: event.currentTarget.checked })}
          />{' '}
          {String(node.isTrue)}
        </label>
      )
    case 'number':
      return (
        <NumberInput
          name={name}
          text={node.text}
          isReadOnly={isReadOnly}
          onText={(text) => onChange({ ...node, text })}
        />
      )
    case 'date':
      return (
        <DateInput
          name={name}
          text={node.text}
          isReadOnly={isReadOnly}
          onText={(text) => onChange({ ...node, text })}
        />
      )
    case 'text':
      return (
        <TextInput
          name={name}
          text={node.text}
          isReadOnly={isReadOnly}
          onText={(text) => onChange({ ...node, text })}
        />
      )
    case 'null':
    case 'object':
    case 'array':
      return <span class="soft">null</span>
  }
}

type InputProps = { name: string; text: string; isReadOnly: boolean; onText: (text: string) => void }

function NumberInput({ name, text, isReadOnly, onText }: InputProps) {
  const id = useId()
  const read = readJson(text)
  const fault =
    'value' in read
      ? typeof read.value === 'number'
        ? undefined
        : 'This is not a number.'
      : (read.faults[0]?.message ?? 'This is not a number.')
  return (
    <span class="control">
      <input
        value={text}
        inputMode="decimal"
        autoComplete="off"
        aria-label={name}
        aria-invalid={fault ? 'true' : undefined}
        aria-describedby={fault ? id : undefined}
        readOnly={isReadOnly}
        onInput={(event) => onText(event.currentTarget.value)}
      />
      {fault && (
        <span id={id} class="fault">
          {fault}
        </span>
      )}
    </span>
  )
}

/** A moment in UTC, as it is stored. */
function DateInput({ name, text, isReadOnly, onText }: InputProps) {
  function read(typed: string): void {
    const time = Date.parse(`${typed}Z`)
    onText(Number.isNaN(time) ? '' : new Date(time).toISOString())
  }
  return (
    <span class="control date">
      <input
        type="datetime-local"
        step="0.001"
        max="9999-12-31T23:59:59.999"
        aria-label={`${name}, in UTC`}
        value={isMoment(text) ? text.slice(0, -1) : ''}
        readOnly={isReadOnly}
        onChange={(event) => read(event.currentTarget.value)}
      />
      <span class="hint">UTC</span>
    </span>
  )
}

/** A text grows with its lines. What a text field would change can be edited as JSON only. */
function TextInput({ name, text, isReadOnly, onText }: InputProps) {
  if (text.length > LONG_TEXT || text.includes('\r'))
    return (
      <span class="control">
        <span class="long">
          <Text>{text.slice(0, 200)}</Text>
          {text.length > 200 && '…'}
        </span>
        <span class="hint">
          {text.length > LONG_TEXT ? `${text.length} characters` : 'It has other line ends'}: edit it as JSON.
        </span>
      </span>
    )
  return (
    <span class="control">
      <textarea
        rows={1}
        dir="auto"
        aria-label={name}
        value={text}
        spellcheck={false}
        readOnly={isReadOnly}
        onInput={(event) => onText(event.currentTarget.value)}
      />
      {hasInvisible(text) && (
        <span class="hint">
          Shown with what cannot be seen: <Text>{text}</Text>
        </span>
      )}
    </span>
  )
}
