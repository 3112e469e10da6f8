import { useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks'

import { announce } from '../../../parts/toast.tsx'
import { setQuery } from '../../../parts/router.tsx'
import { Text } from '../../../parts/text.tsx'
import { originsOf } from './field-changes.ts'
import { FieldRow } from './field-row.tsx'
import { fieldsOf, missingOf, moved, nameFaults, othersOf, withFields } from './field-table.ts'
import { newField, type TableField } from './field-types.ts'
import type { DefinitionDraft } from './use-definition.ts'

/** A row while it is edited: the key tells it from others while its name is typed. */
type Row = { readonly key: number; readonly field: TableField }
type Focus = { key: number; on: string }

let keys = 0
const rowsOf = (fields: readonly TableField[]): Row[] => fields.map((field) => ({ key: ++keys, field }))

/** The fields of a definition as a table that is edited in place. */
export default function Fields({ draft, names }: { draft: DefinitionDraft; names: readonly string[] }) {
  const definition = draft.definition!
  // Rows tell by `origin` which field they were in this one.
  const base = useRef({ definition, origins: draft.origins })
  const written = useRef(draft.text)
  const [rows, setRows] = useState(() => rowsOf(fieldsOf(definition)))
  const focus = useRef<Focus>(undefined)
  if (written.current !== draft.text) {
    written.current = draft.text
    base.current = { definition, origins: draft.origins }
    setRows(rowsOf(fieldsOf(definition)))
  }
  const faults = nameFaults(rows.map(({ field }) => field))
  useFocus(focus)
  useEffect(() => () => draft.note('fields', undefined), [])

  function change(next: readonly Row[]): void {
    setRows([...next])
    const fields = next.map(({ field }) => field)
    const [[at, fault] = []] = nameFaults(fields)
    const missing = fields.map(missingOf).find(Boolean)
    draft.note('fields', at === undefined ? missing : `Field ${at + 1}: ${fault}`)
    if (at !== undefined) return
    draft.edit(
      () => {
        const changed = withFields(base.current.definition, fields)
        written.current = JSON.stringify(changed, null, 2)
        return changed
      },
      originsOf(base.current.origins, fields),
    )
  }
  function add(): void {
    const key = ++keys
    focus.current = { key, on: '.field-name' }
    change([...rows, { key, field: newField('') }])
  }
  function move(at: number, step: -1 | 1, on: string): void {
    const { key, field } = rows[at]!
    if (!rows[at + step]) return
    const fields = moved(
      rows.map((row) => row.field),
      at,
      step,
    )
    const order = rows.with(at, rows[at + step]!).with(at + step, rows[at]!)
    focus.current = { key, on }
    announce(`${field.name || 'The field'} is number ${at + step + 1} of ${rows.length}.`)
    change(order.map((row, i) => ({ ...row, field: fields[i]! })))
  }
  function remove(at: number): void {
    const next = rows[at + 1] ?? rows[at - 1]
    if (next) focus.current = { key: next.key, on: '.field-name' }
    announce(`${rows[at]!.field.name || 'The field'} is removed.`)
    change(rows.toSpliced(at, 1))
  }
  const others = othersOf(definition)
  return (
    <>
      {rows.length === 0 ? (
        <p class="soft about">
          No fields yet: documents may have any. With fields, each write is checked against them.
        </p>
      ) : (
        <ol class="field-table" aria-label="Fields">
          {rows.map(({ key, field }, at) => (
            <FieldRow
              key={key}
              id={`field-${key}`}
              field={field}
              fault={faults.get(at)}
              isFirst={at === 0}
              isLast={at === rows.length - 1}
              isLocked={draft.isLocked}
              names={names}
              change={(next) => change(rows.with(at, { key, field: next }))}
              move={(step, on) => move(at, step, on)}
              remove={() => remove(at)}
            />
          ))}
        </ol>
      )}
      {!draft.isLocked && (
        <button type="button" class="add" onClick={add}>
          Add a field
        </button>
      )}
      {others.length > 0 && (
        <p class="hint others">
          What the table does not show stays as it is: <Text>{others.slice(0, 20).join(', ')}</Text>.{' '}
          <button type="button" class="link" onClick={() => setQuery({ tab: 'json' })}>
            Open the JSON
          </button>
        </p>
      )}
    </>
  )
}

/** A row that is new or has moved gets the focus again, before the next key is typed. */
function useFocus(focus: { current: Focus | undefined }): void {
  useLayoutEffect(() => {
    if (!focus.current) return
    const { key, on } = focus.current
    focus.current = undefined
    const row = document.getElementById(`field-${key}`)
    const wanted = row?.querySelector<HTMLElement>(`${on}:not(:disabled)`)
    ;(wanted ?? row?.querySelector<HTMLElement>('.field-name'))?.focus()
  })
}
