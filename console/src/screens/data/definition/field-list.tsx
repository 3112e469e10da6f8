import { announce } from '../../../parts/toast.tsx'
import { FieldRow } from './field-row.tsx'
import { nameFaults } from './field-faults.ts'
import { moved, rowOf, type FieldFocus, type FieldRowValue } from './field-rows.ts'
import { newField } from './field-types.ts'

type FieldListProps = {
  rows: readonly FieldRowValue[]
  /** The path of the object that has the fields; undefined for those of the document. */
  inside?: string
  isLocked: boolean
  /** Of all collections. */
  names: readonly string[]
  focus: { current: FieldFocus | undefined }
  change: (rows: readonly FieldRowValue[]) => void
}

/** The rows of the fields of a level, each with those inside of it. */
export default function FieldList(props: FieldListProps) {
  const { rows, inside, isLocked, names, focus, change } = props
  const of = inside === undefined ? '' : ` of ${inside}`
  const faults = nameFaults(
    rows.map(({ field }) => field),
    inside !== undefined,
  )
  function add(): void {
    const row = rowOf(newField(''))
    focus.current = { key: row.key, on: '.field-name' }
    change([...rows, row])
  }
  function move(at: number, step: -1 | 1, on: string): void {
    const { key, field } = rows[at]!
    if (!rows[at + step]) return
    focus.current = { key, on }
    announce(`${field.name || 'The field'} is number ${at + step + 1} of ${rows.length}.`)
    change(moved(rows, at, step))
  }
  function remove(at: number): void {
    const next = rows[at + 1] ?? rows[at - 1]
    if (next) focus.current = { key: next.key, on: '.field-name' }
    announce(`${rows[at]!.field.name || 'The field'} is removed.`)
    change(rows.toSpliced(at, 1))
  }
  return (
    <>
      {rows.length > 0 && (
        <ol class="field-table" aria-label={`Fields${of}`}>
          {rows.map((row, at) => {
            const { key, field, rows: inner } = row
            const path = (inside === undefined ? '' : `${inside}.`) + (field.name || 'the new field')
            return (
              <FieldRow
                key={key}
                id={`field-${key}`}
                field={field}
                label={path}
                fault={faults.get(at)}
                isFirst={at === 0}
                isLast={at === rows.length - 1}
                isLocked={isLocked}
                names={names}
                change={(next) => change(rows.with(at, { ...row, field: next }))}
                move={(step, on) => move(at, step, on)}
                remove={() => remove(at)}
              >
                {field.fields && (
                  <FieldList
                    {...props}
                    rows={inner}
                    inside={path}
                    change={(next) => change(rows.with(at, { ...row, rows: next }))}
                  />
                )}
              </FieldRow>
            )
          })}
        </ol>
      )}
      {!isLocked && (
        <button type="button" class="add" onClick={add}>
          Add a field{of}
        </button>
      )}
    </>
  )
}
