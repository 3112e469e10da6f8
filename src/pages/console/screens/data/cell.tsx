import { signal } from '@preact/signals'
import { useLayoutEffect, useRef } from 'preact/hooks'

import { messageOf } from '../../../parts/load.tsx'
import { canWrite } from '../../../parts/session.ts'
import { Text, Time } from '../../../parts/text.tsx'
import { toast } from '../../../parts/toast.tsx'
import { setField, valueIn, type GridRow } from './documents.ts'
import { textOfValue, valueOfText, type FilterJson } from './filter.ts'

/** The cell that is edited. */
export const editing = signal<{ id: string; path: string } | undefined>(undefined)

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
export function Cell({ row, path, collection }: { row: GridRow; path: string; collection: string }) {
  const { id, path: edited } = editing.value ?? {}
  if (id === row._id && edited === path) return <CellEditor row={row} path={path} collection={collection} />
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

/** What was typed as a value of the type that the field has. @throws Error */
function readAs(old: FilterJson | undefined, text: string): FilterJson {
  if (typeof old === 'string') return text
  const value = valueOfText(text)
  if (typeof old === 'number' && typeof value !== 'number') throw new Error('This must be a number.')
  if (typeof old === 'boolean' && typeof value !== 'boolean') throw new Error('This must be true or false.')
  return value
}

/** Enter saves, Escape leaves it as it is. */
function CellEditor({ row, path, collection }: { row: GridRow; path: string; collection: string }) {
  const ref = useRef<HTMLInputElement>(null)
  const isDone = useRef(false)
  const old = valueIn(row, path)
  // What is typed next goes into it.
  useLayoutEffect(() => {
    ref.current?.focus()
    ref.current?.select()
  }, [])
  const leave = () => {
    isDone.current = true
    const link = ref.current?.closest('tr')?.querySelector<HTMLElement>('.open')
    editing.value = undefined
    // In its row again.
    setTimeout(() => link?.focus())
  }
  async function save(): Promise<void> {
    if (isDone.current) return
    try {
      const value = readAs(old, ref.current!.value)
      leave()
      if (value === old) return
      const undo = await setField(collection, row, path, value)
      toast(`${path} is saved.`, { undo })
    } catch (error) {
      toast(messageOf(error), { tone: 'bad' })
    }
  }
  return (
    <input
      class="cell-editor"
      ref={ref}
      aria-label={`${path} of ${row._id}`}
      defaultValue={typeof old === 'string' ? old : textOfValue(old ?? null)}
      onClick={(event) => {
        event.preventDefault()
        event.stopPropagation()
      }}
      onKeyDown={(event) => {
        event.stopPropagation()
        if (event.key === 'Enter') void save()
        else if (event.key === 'Escape') leave()
      }}
      onBlur={() => void save()}
    />
  )
}
