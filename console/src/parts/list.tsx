import type { ComponentChildren } from 'preact'
import { useEffect, useMemo, useRef } from 'preact/hooks'

import { Filters, type ListFilter } from './filters.tsx'
import { singleKey, useKeyDown } from './keyboard.ts'
import { Problem } from './load.tsx'
import { go, place, setQuery } from './router.tsx'
import { useRows, type LoadRows } from './rows.ts'
import { useSelection } from './selection.ts'
import { addressOf, inOrder, Table, type RecordProps } from './table.tsx'
import { announce } from './toast.tsx'

export type ListProps<T> = RecordProps<T> & {
  load: LoadRows<T>
  /** What loads the list anew besides the filters. */
  deps?: readonly unknown[]
  filters?: readonly ListFilter[]
  /** Between the filters and the table, such as sums. */
  head?: ComponentChildren
  /** Buttons beside the title; `again` loads the list anew. */
  buttons?: (again: () => void) => ComponentChildren
  /** Whether the list can follow what changes. */
  canBeLive?: boolean
}

/** A list of records: filters, a table of what was loaded so far, and a pane at the right for one of them. */
export function List<T>(props: ListProps<T>) {
  const { at, filters = [], canBeLive = false, idOf } = props
  const { query, path } = place.value
  const openId = path[at.length - 1]
  const isLive = canBeLive && query.get('live') === 'on'
  const filter = filters.map(({ name }) => query.get(name) ?? '')
  const sort = query.get('sort') ?? ''
  // The server is asked anew only for an order that it knows.
  const asked = props.columns.some((one) => one.sort === sort.replace(/^-/, '')) ? sort : ''
  const loaded = useRows(props.load, idOf, [...at, ...filter, asked, ...(props.deps ?? [])], isLive)
  const ordered = useMemo(
    () => (loaded.hasMore ? loaded.rows : inOrder(loaded.rows, props.columns, sort)),
    [loaded.rows, loaded.hasMore, sort],
  )
  const rows = { ...loaded, rows: ordered }
  const order = rows.rows.map(idOf)
  const selection = useSelection(order)
  const isFiltered = filter.some((value) => value !== '')
  const marked = rows.rows.filter((row) => selection.ids.has(idOf(row)))

  useEffect(() => {
    if (!rows.isLoading) announce(`${rows.rows.length}${rows.hasMore ? ' or more' : ''} rows`)
  }, [rows.isLoading, rows.rows.length])

  return (
    <div class={openId === undefined || !props.pane ? 'screen list' : 'screen list with-pane'}>
      <section class="records" aria-label={props.title}>
        <div class="bar">
          <h1 tabIndex={-1}>{props.title}</h1>
          {canBeLive && (
            <label class="check live">
              <input
                type="checkbox"
                role="switch"
                checked={isLive}
                aria-checked={isLive}
                onChange={() => setQuery({ live: isLive ? undefined : 'on' })}
              />{' '}
              Live
            </label>
          )}
          <div class="buttons">
            {props.buttons?.(rows.again)}
            <button type="button" class="small" onClick={rows.again} disabled={rows.isLoading}>
              Refresh
            </button>
          </div>
        </div>
        {filters.length > 0 && <Filters of={filters} />}
        {props.head}
        {marked.length > 0 && props.actions && (
          <div class="marked" role="toolbar" aria-label="Marked rows">
            <strong>{marked.length} marked</strong>
            {props.actions(marked, () => {
              selection.clear()
              rows.again()
            })}
            <button type="button" class="plain small" onClick={selection.clear}>
              Clear
            </button>
          </div>
        )}
        {rows.error !== undefined && <Problem error={rows.error} again={rows.again} />}
        <Table
          {...props}
          rows={rows}
          order={order}
          selection={selection}
          openId={openId}
          isFiltered={isFiltered}
        />
      </section>
      {openId !== undefined && props.pane && (
        <Pane at={at} key={openId}>
          {props.pane(
            openId,
            rows.rows.find((row) => idOf(row) === openId),
            rows.again,
          )}
        </Pane>
      )}
    </div>
  )
}

/**
 * What is known of one record, at the right of its list; on a phone in its place. Escape closes it, and the focus goes back to
 * the row.
 */
export function Pane({
  at,
  id,
  children,
}: {
  at: readonly string[]
  id?: string
  children: ComponentChildren
}) {
  const ref = useRef<HTMLElement>(null)
  function close(): void {
    const records = ref.current?.parentElement?.querySelector('.records')
    const row = records?.querySelector<HTMLElement>('a[aria-current="true"]')
    go(addressOf(at))
    requestAnimationFrame(() => {
      if (!records?.contains(document.activeElement)) row?.focus()
    })
  }
  useKeyDown((event) => {
    if (singleKey(event) === 'Escape') close()
  })
  return (
    <section class="pane" id={id} aria-label="Details" ref={ref} tabIndex={-1}>
      <button type="button" class="close small" aria-label="Close the details" onClick={close}>
        <span aria-hidden="true">×</span>
      </button>
      {children}
    </section>
  )
}
