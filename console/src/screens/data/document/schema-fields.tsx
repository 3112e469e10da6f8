import type { ComponentChildren } from 'preact'
import { useId } from 'preact/hooks'

import { isError } from '../../../../../client/src/index.ts'
import { Late } from '../../../parts/late.tsx'
import { Text } from '../../../parts/text.tsx'
import {
  isJson,
  isSeveral,
  schemaOf,
  typeOf,
  type TableField,
  type JsonFields,
} from '../definition/field-types.ts'
import { emptyNode, withValue } from './known-fields.ts'
import { treeOf, type TreeField, type TreeNode } from './tree.ts'

type InputProps = {
  id: string
  field: TableField
  node: TreeNode | undefined
  isReadOnly: boolean
  /** Undefined: the field is left out. */
  onNode: (node: TreeNode | undefined) => void
}

/** The fields that the definition of the collection names, each with the input of its type. */
export default function SchemaFields(props: {
  known: readonly TableField[]
  /** All fields of the document. */
  fields: readonly TreeField[]
  isReadOnly: boolean
  /** Why the document was not saved. */
  error: unknown
  onFields: (fields: readonly TreeField[]) => void
}) {
  const { known, fields, isReadOnly, error, onFields } = props
  return (
    <ul>
      {known.map((field) => (
        <SchemaField
          key={field.name}
          field={field}
          node={fields.find(({ name }) => name === field.name)?.node}
          isReadOnly={isReadOnly}
          fault={faultAt(error, field.name)}
          onNode={(node) => onFields(withValue(fields, field.name, node))}
        />
      ))}
    </ul>
  )
}

function SchemaField({ fault, ...props }: Omit<InputProps, 'id'> & { fault: string | undefined }) {
  const { field } = props
  const id = useId()
  const { description } = schemaOf(field)
  const name = (
    <>
      <Text>{field.name}</Text>
      {field.isRequired && (
        <>
          <span class="required" aria-hidden="true">
            *
          </span>
          <span class="quiet"> (required)</span>
        </>
      )}
    </>
  )
  // Buttons say by themselves what they do.
  const type = typeOf(field)
  const isButton = type === 'relation' || isJson(type)
  return (
    <li class="schema-row">
      {isButton ? <span>{name}</span> : <label for={id}>{name}</label>}
      <div class="control">
        <Input {...props} id={id} />
        {typeof description === 'string' && (
          <span class="hint">
            <Text>{description}</Text>
          </span>
        )}
        {fault && <span class="fault">{fault}</span>}
      </div>
    </li>
  )
}

/** What the server says of a field, or of a part of it. */
function faultAt(error: unknown, name: string): string | undefined {
  if (!isError(error, 'VALIDATION_ERROR')) return undefined
  const { issues = [] } = (error.details ?? {}) as { issues?: readonly { path: string; message: string }[] }
  const path = `/body/${name}`
  return issues.find((one) => one.path === path || one.path.startsWith(`${path}/`))?.message
}

const textIn = (node: TreeNode | undefined): string => (node && 'text' in node ? node.text : '')

function Input(props: InputProps): ComponentChildren {
  const { id, field, node, isReadOnly, onNode } = props
  const schema = schemaOf(field)
  const type = typeOf(field)
  const text = textIn(node)
  const onText = (next: string) => onNode(next === '' ? undefined : treeOf(next))
  const common = { id, readOnly: isReadOnly, autoComplete: 'off' }
  switch (type) {
    case 'relation':
      return (
        <Late
          load={() => import('./relation-input.tsx')}
          props={{
            to: field.relation!.to,
            label: field.name,
            isSeveral: isSeveral(field),
            ids: node?.type === 'array' ? node.items.map(textIn) : text === '' ? [] : [text],
            isReadOnly,
            onIds: (ids: readonly string[]) =>
              onNode(ids.length === 0 ? undefined : treeOf(isSeveral(field) ? ids : ids[0])),
          }}
        />
      )
    case 'boolean':
    case 'choice':
      return <ChoiceInput {...props} options={type === 'boolean' ? YES_NO : choicesIn(schema)} />
    case 'number':
    case 'integer':
      return (
        <input
          {...common}
          type="number"
          step={type === 'integer' ? 1 : 'any'}
          min={schema['minimum'] as number | undefined}
          max={schema['maximum'] as number | undefined}
          value={text}
          // A number stays as it was typed until it is one.
          onInput={({ currentTarget: { value } }) =>
            onNode(value === '' ? undefined : { ...treeOf(0), type: 'number', text: value })
          }
        />
      )
    case 'date':
    case 'time':
      return (
        <input
          {...common}
          {...({ type: type === 'date' ? 'date' : 'text' } as { type: 'text' })}
          placeholder={type === 'time' ? '14:30:00Z' : undefined}
          value={text}
          onInput={(event) => onText(event.currentTarget.value)}
        />
      )
    case 'moment':
      return (
        <span class="date">
          <input
            {...common}
            type="datetime-local"
            step="1"
            max="9999-12-31T23:59:59"
            value={text.slice(0, 19)}
            onChange={({ currentTarget: { value } }) =>
              onText(value === '' ? '' : new Date(`${value}Z`).toISOString())
            }
          />
          <span class="hint">UTC</span>
        </span>
      )
    case 'email':
    case 'url':
      return (
        <input
          {...common}
          {...({ type: type as string } as { type: 'text' })}
          value={text}
          onInput={(event) => onText(event.currentTarget.value)}
        />
      )
    case 'list':
      return (
        <>
          <textarea
            {...common}
            rows={2}
            value={node?.type === 'array' ? node.items.map(textIn).join('\n') : ''}
            onInput={({ currentTarget: { value } }) =>
              onNode(value === '' ? undefined : treeOf(value.split('\n')))
            }
          />
          <span class="hint">One a line</span>
        </>
      )
    case 'object':
    case 'objects':
    case 'json':
      return (
        <button type="button" class="small" disabled={isReadOnly} onClick={() => onNode(emptyNode(field))}>
          Add {field.name}
        </button>
      )
    case 'text':
    case 'long':
    case 'files':
      return (
        <textarea
          {...common}
          rows={type === 'long' ? 4 : 1}
          dir="auto"
          maxLength={schema['maxLength'] as number | undefined}
          value={text}
          onInput={(event) => onText(event.currentTarget.value)}
        />
      )
  }
}

const YES_NO = [
  ['true', 'Yes'],
  ['false', 'No'],
] as const

const choicesIn = (schema: JsonFields) => (schema['enum'] as string[]).map((one) => [one, one] as const)

function ChoiceInput(props: InputProps & { options: readonly (readonly [value: string, title: string])[] }) {
  const { id, field, node, isReadOnly, onNode, options } = props
  const isBoolean = typeOf(field) === 'boolean'
  const value = node?.type === 'boolean' ? String(node.isTrue) : textIn(node)
  const isOther = value !== '' && !options.some(([one]) => one === value)
  return (
    <select
      id={id}
      disabled={isReadOnly}
      value={value}
      onChange={({ currentTarget: { value: next } }) =>
        onNode(next === '' ? undefined : treeOf(isBoolean ? next === 'true' : next))
      }
    >
      <option value="">{field.isRequired ? 'Choose' : '–'}</option>
      {isOther && <option value={value}>{value}</option>}
      {options.map(([one, title]) => (
        <option key={one} value={one}>
          {title}
        </option>
      ))}
    </select>
  )
}
