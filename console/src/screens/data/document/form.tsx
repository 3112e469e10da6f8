import { useRef, useState } from 'preact/hooks'

import { Late } from '../../../parts/late.tsx'
import type { FileFieldLimits, FileFields } from '../collection.ts'
import type { TableField } from '../definition/field-types.ts'
import { fileFieldAt, filesIn, missingFileFields, nodeOfFiles } from './file-fields.ts'
import { Control, NameInput } from './inputs.tsx'
import { shownByInput } from './known-fields.ts'
import { sizeOf, treeOf, TYPES, withType, type TreeField, type TreeNode, type ValueType } from './tree.ts'

const SHOWN = 50
const OPEN_DEPTH = 3
const OPEN_VALUES = 300

type ObjectNode = Extract<TreeNode, { type: 'object' }>
/** What is the same for all fields. */
type Edit = {
  isReadOnly: boolean
  isLarge: boolean
  focus: { current: number | undefined }
  files: FileFields
  /** Those of the first level that the definition names. */
  known: readonly TableField[]
  /** Why it was not saved. */
  error: unknown
}

/** The fields of a document as a form. */
export default function DocumentForm(props: {
  tree: ObjectNode
  isReadOnly: boolean
  files: FileFields
  known: readonly TableField[]
  error: unknown
  onChange: (tree: ObjectNode) => void
}) {
  const { tree, onChange, ...rest } = props
  const [isLarge] = useState(() => sizeOf(tree, OPEN_VALUES + 1) > OPEN_VALUES)
  // The field that was added last: its name gets the focus.
  const focus = useRef<number>(undefined)
  return (
    <div class="document-form">
      <Fields node={tree} onChange={onChange} edit={{ ...rest, isLarge, focus }} path="" depth={0} />
    </div>
  )
}

type Level = { edit: Edit; path: string; depth: number }

function Fields({
  node,
  onChange,
  ...level
}: Level & { node: ObjectNode; onChange: (node: ObjectNode) => void }) {
  const { edit, path, depth } = level
  const [shown, setShown] = useState(SHOWN)
  const { fields } = node
  const change = (next: readonly TreeField[]) => onChange({ ...node, fields: next })
  const names = Map.groupBy(fields, ({ name }) => name)
  function add(): void {
    const added = treeOf('')
    edit.focus.current = added.key
    setShown(Math.max(shown, fields.length + 1))
    change([...fields, { name: '', node: added }])
  }
  const inputs = path === '' ? shownByInput(edit.known, fields, edit.focus.current) : []
  const isInput = new Set(inputs.map(({ name }) => name))
  // Files can be dropped on fields that the document does not have yet.
  const missing = missingFileFields(edit.files, path, names).map((name) => ({ name, node: undefined }))
  return (
    <>
      {fields.length + missing.length + inputs.length === 0 && <p class="soft">No fields.</p>}
      {inputs.length > 0 && (
        <Late
          load={() => import('./schema-fields.tsx')}
          props={{
            known: inputs,
            fields,
            isReadOnly: edit.isReadOnly,
            error: edit.error,
            onFields: change,
          }}
        />
      )}
      <ul>
        {[...fields.slice(0, shown), ...missing].map(({ name, node: value }, at) => {
          if (isInput.has(name)) return null
          const inner = path ? `${path}.${name}` : name
          // Not while its name is typed.
          const isNew = value !== undefined && value.key === edit.focus.current
          const field = isNew || names.get(name)?.[1] ? undefined : fileFieldAt(edit.files, inner, value)
          if (field)
            return (
              <FileValue
                key={inner}
                {...{ name, field, path: inner, edit, node: value }}
                onChange={(node) =>
                  change(value ? fields.with(at, { name, node }) : [...fields, { name, node }])
                }
              />
            )
          if (!value) return null
          return (
            <Value
              key={value.key}
              node={value}
              label={inner || 'the new field'}
              edit={edit}
              path={inner}
              depth={depth}
              head={
                <NameInput
                  name={name}
                  path={inner}
                  isTwice={names.get(name)!.length > 1}
                  hasFocus={edit.focus.current === value.key}
                  isReadOnly={edit.isReadOnly}
                  onName={(text) => change(fields.with(at, { name: text, node: value }))}
                />
              }
              onChange={(next) => change(fields.with(at, { name, node: next }))}
              onRemove={() => change(fields.toSpliced(at, 1))}
            />
          )
        })}
      </ul>
      <More count={fields.length - shown} onMore={() => setShown(shown + SHOWN)} />
      {!edit.isReadOnly && (
        <button type="button" class="small add" onClick={add}>
          Add a field{path && ` to ${path}`}
        </button>
      )}
    </>
  )
}

/** A field that holds files, also one that the document does not have yet. */
function FileValue(props: {
  name: string
  field: FileFieldLimits
  path: string
  edit: Edit
  node: TreeNode | undefined
  onChange: (node: TreeNode) => void
}) {
  const { name, field, path, edit, node, onChange } = props
  const { isReadOnly, error } = edit
  const onIds = (ids: readonly string[]) => onChange(nodeOfFiles(ids, field))
  return (
    <li class="row">
      <code class="file-name">{name}</code>
      <Late
        load={() => import('./file-field.tsx')}
        props={{ ids: filesIn(node), field, path, isReadOnly, error, onIds }}
      />
    </li>
  )
}

function Items(
  props: Level & { node: Extract<TreeNode, { type: 'array' }>; onChange: (node: TreeNode) => void },
) {
  const { node, onChange, edit, path, depth } = props
  const [shown, setShown] = useState(SHOWN)
  const { items } = node
  const change = (next: readonly TreeNode[]) => onChange({ ...node, items: next })
  function add(): void {
    const last = items.at(-1)
    setShown(Math.max(shown, items.length + 1))
    change([...items, last ? withType(treeOf(''), last.type) : treeOf('')])
  }
  return (
    <>
      <ul>
        {items.slice(0, shown).map((item, at) => (
          <Value
            key={item.key}
            node={item}
            label={`${path}.${at}`}
            edit={edit}
            path={`${path}.${at}`}
            depth={depth}
            head={<span class="index">{at}</span>}
            onChange={(next) => change(items.with(at, next))}
            onRemove={() => change(items.toSpliced(at, 1))}
          />
        ))}
      </ul>
      <More count={items.length - shown} onMore={() => setShown(shown + SHOWN)} />
      {!edit.isReadOnly && (
        <button type="button" class="small add" onClick={add}>
          Add an item to {path}
        </button>
      )}
    </>
  )
}

const More = ({ count, onMore }: { count: number; onMore: () => void }) =>
  count > 0 ? (
    <button type="button" class="small add" onClick={onMore}>
      Show {Math.min(count, SHOWN)} of {count} more
    </button>
  ) : null

/** One value: its name or index, the control of its type, the choice of the type, and below it what is inside. */
function Value(
  props: Level & {
    node: TreeNode
    label: string
    head: preact.ComponentChildren
    onChange: (node: TreeNode) => void
    onRemove: () => void
  },
) {
  const { node, label, head, edit, path, depth, onChange, onRemove } = props
  const hasInside = node.type === 'object' || node.type === 'array'
  const [isOpen, setOpen] = useState(!edit.isLarge && depth < OPEN_DEPTH)
  const level = { edit, path, depth: depth + 1 }
  return (
    <li class="value">
      <div class="row">
        {head}
        {hasInside ? (
          <button
            type="button"
            class="plain small inside"
            aria-expanded={isOpen}
            onClick={() => setOpen(!isOpen)}
          >
            <span aria-hidden="true">{isOpen ? '▾' : '▸'}</span> {insideOf(node)}
            <span class="quiet"> of {label}</span>
          </button>
        ) : (
          <Control node={node} label={label} isReadOnly={edit.isReadOnly} onChange={onChange} />
        )}
        <select
          class="type"
          aria-label={`Type of ${label}`}
          value={node.type}
          disabled={edit.isReadOnly}
          onChange={(event) => {
            setOpen(true)
            onChange(withType(node, event.currentTarget.value as ValueType))
          }}
        >
          {TYPES.map((type) => (
            <option key={type} value={type}>
              {type}
            </option>
          ))}
        </select>
        <button
          type="button"
          class="plain small"
          aria-label={`Remove ${label}`}
          disabled={edit.isReadOnly}
          onClick={onRemove}
        >
          <span aria-hidden="true">×</span>
        </button>
      </div>
      {hasInside && isOpen && (
        <div class="nested">
          {node.type === 'object' ? (
            <Fields {...level} node={node} onChange={onChange} />
          ) : (
            <Items {...level} node={node} onChange={onChange} />
          )}
        </div>
      )}
    </li>
  )
}

function insideOf(node: TreeNode): string {
  if (node.type === 'object') return node.fields.length === 1 ? '1 field' : `${node.fields.length} fields`
  const { length } = node.type === 'array' ? node.items : []
  return length === 1 ? '1 item' : `${length} items`
}
