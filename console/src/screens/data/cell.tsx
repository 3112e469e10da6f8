import type { ComponentType } from 'preact'

import { Late } from '../../parts/late.tsx'
import { canWrite } from '../../parts/session.ts'
import { Text, Time } from '../../parts/text.tsx'
import { valueIn, type GridRow } from './documents.ts'
import { editing } from './edited-cell.ts'
import type { FilterJson } from './filter.ts'

type CellProps = { row: GridRow; path: string; collection: string }

let CellEditor: ComponentType<CellProps> | undefined

/** Loads what a cell is edited with: with the grid, so that it is there when the first cell is, and takes what is typed next. */
export async function loadCellEditor() {
  const module = await import('./cell-editor.tsx')
  CellEditor = module.default
  return module
}

const TIMES = ['createdAt', 'updatedAt']

/** Whether a value can be edited in its cell: a scalar of the document's own, whole. */
export const isEditable = (row: GridRow, path: string): boolean => {
  const value = valueIn(row, path)
  return (
    canWrite.value &&
    !path.includes('.') &&
    !['_id', ...TIMES].includes(path) &&
    value !== undefined &&
    (typeof value !== 'object' || value === null) &&
    row.$preview.cut[path] === undefined
  )
}

/** A value of a document in the grid. */
export function Cell({ row, path, collection }: CellProps) {
  const { id, path: edited } = editing.value ?? {}
  const props = { row, path, collection }
  if (id === row._id && edited === path)
    return CellEditor ? <CellEditor {...props} /> : <Late load={loadCellEditor} props={props} />
  return <Shown value={valueIn(row, path)} cut={row.$preview.cut[path]} isTime={TIMES.includes(path)} />
}

function Shown({
  value,
  cut,
  isTime,
}: {
  value: FilterJson | undefined
  cut: { type: string; length: number } | undefined
  isTime: boolean
}) {
  if (value === undefined) return null
  if (isTime && typeof value === 'string') return <Time at={value} />
  if (typeof value === 'string')
    return value === '' ? (
      <i class="type">empty</i>
    ) : (
      <>
        <Text>{value}</Text>
        {cut && <i class="type">… {cut.length.toLocaleString()} characters</i>}
      </>
    )
  if (typeof value !== 'object' || value === null) return <code class={typeof value}>{String(value)}</code>
  const size = cut?.length ?? (Array.isArray(value) ? value.length : Object.keys(value).length)
  // One element each: 100,000 rows have 600 at most.
  return <Text>{`${Array.isArray(value) ? `[${size}]` : `{${size}}`} ${JSON.stringify(value)}`}</Text>
}
