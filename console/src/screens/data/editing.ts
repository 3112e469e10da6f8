import { singleKey } from '../../parts/keyboard.ts'
import { go } from '../../parts/router.tsx'
import { isEditable, loadCellEditor } from './cell.tsx'
import type { GridRow } from './documents.ts'
import { editing } from './edited-cell.ts'

const DOUBLE_CLICK_MS = 250

/** A double click edits a cell, and `e` the first one of the row that has the focus, until the signal. */
export function followEdits(
  rows: { current: ReadonlyMap<string, GridRow> },
  columns: readonly string[],
  signal: AbortSignal,
): void {
  // If it cannot be loaded, the cell that is edited says so.
  loadCellEditor().catch(() => undefined)
  function edit(target: Element | null, paths: readonly string[]): boolean {
    const link = target?.closest('tr')?.querySelector<HTMLAnchorElement>('.open')
    const row = link ? rows.current.get(link.hash.split('?')[0]!.split('/').at(-1)!) : undefined
    const path = row && paths.find((one) => isEditable(row, one))
    if (!row || path === undefined) return false
    editing.value = { id: row._id, path }
    return true
  }
  function onKeyDown(event: KeyboardEvent): void {
    if (singleKey(event) === 'e' && edit(document.activeElement, columns)) event.preventDefault()
  }
  let opening: ReturnType<typeof setTimeout> | undefined
  // Behind the mark and the id.
  const pathAt = (cell: HTMLTableCellElement | null) => columns[(cell?.cellIndex ?? 0) - 2]
  const cellOf = (target: EventTarget | null) =>
    (target as Element).closest<HTMLTableCellElement>('.table tbody td')
  // A click opens the row, unless it is the first of two.
  function onClick(event: MouseEvent): void {
    const cell = cellOf(event.target)
    if (pathAt(cell) === undefined || event.shiftKey || cell?.querySelector('input')) return
    event.stopPropagation()
    const link = cell?.closest('tr')?.querySelector<HTMLAnchorElement>('.open')
    clearTimeout(opening)
    if (link && event.detail < 2 && !String(getSelection()))
      opening = setTimeout(() => go(link.hash), DOUBLE_CLICK_MS)
  }
  function onDoubleClick({ target }: MouseEvent): void {
    clearTimeout(opening)
    const cell = cellOf(target)
    const path = pathAt(cell)
    if (path !== undefined) edit(cell, [path])
  }
  document.addEventListener('keydown', onKeyDown, { signal })
  document.addEventListener('click', onClick, { capture: true, signal })
  document.addEventListener('dblclick', onDoubleClick, { signal })
  signal.addEventListener('abort', () => clearTimeout(opening))
}
