import { useLayoutEffect, useRef } from 'preact/hooks'

import { messageOf } from '../../parts/load.tsx'
import { toast } from '../../parts/toast.tsx'
import { editing } from './edited-cell.ts'
import { setField, valueIn, type GridRow } from './documents.ts'
import { textOfValue, valueOfText, type FilterJson } from './filter.ts'

/** What was typed as a value of the type that the field has. @throws Error */
function readAs(old: FilterJson | undefined, text: string): FilterJson {
  if (typeof old === 'string') return text
  const value = valueOfText(text)
  if (typeof old === 'number' && typeof value !== 'number') throw new Error('This must be a number.')
  if (typeof old === 'boolean' && typeof value !== 'boolean') throw new Error('This must be true or false.')
  return value
}

/** Enter saves, Escape leaves it as it is. */
export default function CellEditor({
  row,
  path,
  collection,
}: {
  row: GridRow
  path: string
  collection: string
}) {
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
