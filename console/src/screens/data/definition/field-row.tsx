import type { ComponentChildren } from 'preact'
import { useId, useState } from 'preact/hooks'

import { Late } from '../../../parts/late.tsx'
import { Badge } from '../../../parts/text.tsx'
import { TYPES, typeOf, withType, type TableField, type FieldType } from './field-types.ts'

/** A field in the table: name, type, whether it is required, and its details below it. */
export function FieldRow(props: {
  id: string
  field: TableField
  /** Its path, for people. */
  label: string
  /** What is wrong with its name. */
  fault: string | undefined
  isFirst: boolean
  isLast: boolean
  isLocked: boolean
  /** Of all collections. */
  names: readonly string[]
  change: (field: TableField) => void
  /** @param on the control that has the focus afterwards */
  move: (step: -1 | 1, on: string) => void
  remove: () => void
  /** The rows inside of it. */
  children: ComponentChildren
}) {
  const { id, field, label, isLocked, change, move } = props
  const type = typeOf(field)
  const detailsId = useId()
  // A type that asks for more shows at once where that is given.
  const [isOpen, setOpen] = useState(false)
  function onKeyDown(event: KeyboardEvent): void {
    const step = { ArrowUp: -1, ArrowDown: 1 }[event.key] as -1 | 1 | undefined
    if (!event.altKey || step === undefined || isLocked) return
    event.preventDefault()
    move(step, '.field-name')
  }
  return (
    <li id={id}>
      <div class="field-row">
        <NameOf
          field={field}
          fault={props.fault}
          isLocked={isLocked}
          change={change}
          label={label}
          onKeyDown={onKeyDown}
        />
        <select
          aria-label={`Type of ${label}`}
          value={type}
          disabled={isLocked}
          onChange={(event) => {
            const next = event.currentTarget.value as FieldType
            if (['choice', 'relation', 'files'].includes(next)) setOpen(true)
            change(withType(field, next))
          }}
        >
          {Object.entries(TYPES).map(([name, title]) => (
            <option key={name} value={name}>
              {title}
            </option>
          ))}
        </select>
        <label class="check">
          <input
            type="checkbox"
            aria-label={`${label} is required`}
            checked={field.isRequired}
            disabled={isLocked}
            onChange={(event) => change({ ...field, isRequired: event.currentTarget.checked })}
          />{' '}
          Required
        </label>
        <span class="marks">
          {marksOf(field).map((mark) => (
            <Badge key={mark}>{mark}</Badge>
          ))}
        </span>
        <span class="tools">
          <button
            type="button"
            class="small"
            aria-expanded={isOpen}
            aria-controls={detailsId}
            aria-label={`Details of ${label}`}
            onClick={() => setOpen(!isOpen)}
          >
            Details <span aria-hidden="true">{isOpen ? '▾' : '▸'}</span>
          </button>
          {!isLocked && <Tools {...props} />}
        </span>
      </div>
      <div id={detailsId} class="field-details" hidden={!isOpen}>
        {isOpen && (
          <Late
            load={() => import('./field-details.tsx')}
            props={{ field, label, isLocked, names: props.names, change }}
          />
        )}
      </div>
      {field.fields && <div class="field-inside">{props.children}</div>}
    </li>
  )
}

function NameOf(props: {
  field: TableField
  fault: string | undefined
  label: string
  isLocked: boolean
  change: (field: TableField) => void
  onKeyDown: (event: KeyboardEvent) => void
}) {
  const { field, fault, label, isLocked, change, onKeyDown } = props
  const id = useId()
  // Nobody is told to give a name before there was time to.
  const [isLeft, setLeft] = useState(field.name !== '')
  const shown = isLeft || field.name !== '' ? fault : undefined
  return (
    <span class="name">
      <input
        class="field-name"
        aria-label={`Name of ${label}`}
        aria-invalid={shown ? 'true' : undefined}
        aria-describedby={shown ? id : undefined}
        value={field.name}
        placeholder="Name"
        autoComplete="off"
        spellcheck={false}
        readOnly={isLocked}
        onInput={(event) => change({ ...field, name: event.currentTarget.value })}
        onKeyDown={onKeyDown}
        onBlur={() => setLeft(true)}
      />
      {shown && (
        <span id={id} class="fault">
          {shown}
        </span>
      )}
    </span>
  )
}

const Tools = (props: {
  label: string
  isFirst: boolean
  isLast: boolean
  move: (step: -1 | 1, on: string) => void
  remove: () => void
}) => (
  <>
    <button
      type="button"
      class="plain small up"
      aria-label={`Move ${props.label} up`}
      title="Move up (Alt ↑)"
      disabled={props.isFirst}
      onClick={() => props.move(-1, '.up')}
    >
      <span aria-hidden="true">↑</span>
    </button>
    <button
      type="button"
      class="plain small down"
      aria-label={`Move ${props.label} down`}
      title="Move down (Alt ↓)"
      disabled={props.isLast}
      onClick={() => props.move(1, '.down')}
    >
      <span aria-hidden="true">↓</span>
    </button>
    <button
      type="button"
      class="plain small"
      aria-label={`Remove ${props.label}`}
      title="Remove"
      onClick={props.remove}
    >
      <span aria-hidden="true">×</span>
    </button>
  </>
)

const marksOf = ({
  relation,
  isUnique,
  isSearchable,
  isHidden,
  isReadOnly,
  showTo,
}: TableField): string[] => [
  ...(relation?.to ? [`→ ${relation.to}`] : []),
  ...(isUnique ? ['unique'] : []),
  ...(isSearchable ? ['searched'] : []),
  ...(isHidden ? ['hidden'] : showTo === undefined ? [] : ['shown to some']),
  ...(isReadOnly ? ['read-only'] : []),
]
