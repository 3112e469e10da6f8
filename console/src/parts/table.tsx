import type { ComponentChildren } from 'preact'
import { useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks'

import { go, href, place, setQuery } from './router.tsx'
import type { Rows } from './rows.ts'
import type { Selection } from './selection.ts'
import { useRowKeys, useView } from './table-view.ts'

export type ListColumn<T> = {
  name: string
  title: string
  cell: (row: T) => ComponentChildren
  /** A CSS width, such as `160px`; without one it shares what is left. */
  width?: string
  isNumber?: boolean
  /** The value of the query `sort` by which the server sorts; `-` before it is downwards. */
  sort?: string
  /** What it is sorted by here, if the server can't, once all rows are loaded. */
  order?: (row: T) => string | number | undefined
  /** Left out on narrow screens. */
  isMinor?: boolean
}

/** What a list shows of its records. */
export type RecordProps<T> = {
  title: string
  /** The path of the screen: `['users']`, or `['data', 'books']`. A row's own address has its id behind it. */
  at: readonly string[]
  columns: readonly ListColumn<T>[]
  idOf: (row: T) => string
  /** What a row is called, for readers of a screen reader: the text of the link to its pane. Default: its id. */
  nameOf?: (row: T) => string
  /** What is shown if there is nothing at all: what to do. */
  empty: ComponentChildren
  /** What can be done to marked rows. Without it no row can be marked. */
  actions?: (marked: readonly T[], done: () => void) => ComponentChildren
  /** The pane of a row at the right, with its own address. The row is undefined if it is not among those loaded. */
  pane?: (id: string, row: T | undefined, again: () => void) => ComponentChildren
}

const ROW = 40
const BEYOND = 8

/** The address of a list with its filters, with one of its records open or none. */
export const addressOf = (at: readonly string[], id?: string): string => {
  const query = new URLSearchParams(place.value.query)
  query.delete('tab')
  return href(id === undefined ? at : [...at, id], query)
}

type TableProps<T> = RecordProps<T> & {
  rows: Rows<T>
  order: readonly string[]
  selection: Selection
  openId: string | undefined
  isFiltered: boolean
}

/** The table holds the rows in sight only, between two rows as high as those before and after. */
export function Table<T>(props: TableProps<T>) {
  const { rows: list, columns, idOf, order, selection, at, actions } = props
  const { rows } = list
  const scroller = useRef<HTMLDivElement>(null)
  const { top, height, read } = useView(scroller)
  // The row of the keyboard, whose link has the focus when the reader comes by Tab.
  const [cursor, setCursor] = useState(0)
  const hasFocus = useRef(false)
  /** Whether the row of the keyboard gets the focus once there are rows: the list may be loading when the reader goes to it. */
  const isAwaited = useRef(false)
  const first = Math.max(0, Math.floor(top / ROW) - BEYOND)
  const last = Math.min(rows.length, Math.ceil((top + height) / ROW) + BEYOND)

  const linkAt = (index: number) =>
    scroller.current?.querySelector<HTMLAnchorElement>(`tr[aria-rowindex="${index + 2}"] .open`)

  // The last rows are in sight: load what comes after them.
  useEffect(() => {
    if (list.hasMore && !list.isLoading && list.error === undefined && top > 0 && last >= rows.length)
      list.more()
  }, [last, rows.length, list.hasMore, list.isLoading])

  // A row that has the focus may be gone when the list is loaded again.
  const hadFocus = scroller.current?.contains(document.activeElement) ?? false
  useLayoutEffect(() => {
    const isWanted = hadFocus || isAwaited.current
    if (rows.length === 0) isAwaited.current = isWanted
    else if (isWanted && !scroller.current!.contains(document.activeElement)) moveTo(cursor)
  }, [rows])

  useLayoutEffect(() => {
    if (hasFocus.current) linkAt(cursor)?.focus({ preventScroll: true })
  }, [cursor, first])

  function moveTo(index: number): void {
    const next = Math.max(0, Math.min(rows.length - 1, index))
    hasFocus.current = true
    isAwaited.current = rows.length === 0
    setCursor(next)
    const element = scroller.current!
    const headHeight = ROW
    const above = next * ROW - element.scrollTop
    if (above < 0) element.scrollTop = next * ROW
    else if (above + ROW > element.clientHeight - headHeight)
      element.scrollTop = (next + 2) * ROW - element.clientHeight
    // A key that is held comes faster than frames, and the row with the focus must not go before the next one has it.
    read()
    linkAt(next)?.focus({ preventScroll: true })
  }

  useRowKeys({ scroller, cursor, moveTo, isAwaited }, (isRange) => {
    const id = order[cursor]
    if (actions && id !== undefined) selection.mark(id, isRange)
  })

  return (
    <div
      class="table"
      // Without rows the keyboard reaches nothing in it that scrolls.
      {...(rows.length === 0 && { tabIndex: 0, role: 'region', 'aria-label': props.title })}
      ref={scroller}
      onFocusCapture={() => (hasFocus.current = true)}
      onBlurCapture={(event) =>
        (hasFocus.current = scroller.current?.contains(event.relatedTarget as Node | null) ?? false)
      }
    >
      <table aria-rowcount={list.hasMore ? -1 : rows.length + 1} aria-busy={list.isLoading}>
        <caption class="quiet">{props.title}</caption>
        <Head
          columns={columns}
          isWhole={!list.hasMore}
          selection={actions && selection}
          isAll={selection.ids.size > 0 && selection.ids.size === order.length}
        />
        <tbody>
          {first > 0 && <Gap rows={first} />}
          {rows.slice(first, last).map((row, at) => {
            const index = first + at
            const id = idOf(row)
            return (
              <Row
                key={id}
                row={row}
                index={index}
                props={props}
                id={id}
                isCursor={index === cursor || (cursor >= rows.length && index === 0)}
                onFocus={() => setCursor(index)}
              />
            )
          })}
          {last < rows.length && <Gap rows={rows.length - last} />}
        </tbody>
      </table>
      {list.isFirst && list.isLoading && (
        <p class="loading" role="status">
          Loading…
        </p>
      )}
      {!list.isFirst && rows.length === 0 && !list.isLoading && list.error === undefined && (
        <div class="empty">{props.isFiltered ? <NothingFound at={at} /> : props.empty}</div>
      )}
      {list.hasMore && (
        <p class="more">
          <button type="button" onClick={list.more} disabled={list.isLoading}>
            {list.isLoading ? 'Loading…' : 'Load more'}
          </button>
        </p>
      )}
    </div>
  )
}

const NothingFound = ({ at }: { at: readonly string[] }) => (
  <>
    <p>Nothing matches these filters.</p>
    <a href={href(at)}>Clear the filters</a>
  </>
)

/** Room for rows that are not in the document. One cell: more would keep columns that are left out on a narrow screen. */
const Gap = ({ rows }: { rows: number }) => (
  <tr aria-hidden="true" class="gap" style={{ height: `${rows * ROW}px` }}>
    <td />
  </tr>
)

function Head<T>(props: {
  columns: readonly ListColumn<T>[]
  isWhole: boolean
  selection: Selection | undefined
  isAll: boolean
}) {
  const sorted = place.value.query.get('sort') ?? ''
  return (
    <thead>
      <tr aria-rowindex={1}>
        {props.selection && (
          <th class="mark" scope="col">
            <input
              type="checkbox"
              aria-label="Mark all rows that are loaded"
              checked={props.isAll}
              onChange={props.selection.markAll}
            />
          </th>
        )}
        {props.columns.map((column) => {
          const { name, title, width, isNumber, isMinor } = column
          const sort = sortOf(column, props.isWhole)
          const direction =
            sort !== undefined && sorted === sort
              ? 'ascending'
              : sort !== undefined && sorted === `-${sort}`
                ? 'descending'
                : undefined
          return (
            <th
              key={name}
              scope="col"
              class={classOf(isNumber, isMinor)}
              style={width ? { width } : undefined}
              aria-sort={direction}
            >
              {sort === undefined ? (
                title
              ) : (
                <button
                  type="button"
                  class="sort"
                  onClick={() => setQuery({ sort: direction === 'descending' ? sort : `-${sort}` })}
                >
                  {title}{' '}
                  <span aria-hidden="true">
                    {direction === 'ascending' ? '↑' : direction === 'descending' ? '↓' : ''}
                  </span>
                </button>
              )}
            </th>
          )
        })}
      </tr>
    </thead>
  )
}

/** What the query `sort` is called for a column; undefined if it can't be sorted by. */
const sortOf = <T,>({ name, sort, order }: ListColumn<T>, isWhole: boolean): string | undefined =>
  sort ?? (order && isWhole ? name : undefined)

/** The rows in the order of the address, if it is one of those that the server does not know. */
export function inOrder<T>(
  rows: readonly T[],
  columns: readonly ListColumn<T>[],
  sort: string,
): readonly T[] {
  const name = sort.replace(/^-/, '')
  const order = columns.find((one) => one.name === name && one.sort === undefined)?.order
  if (!order) return rows
  const sign = sort.startsWith('-') ? -1 : 1
  return rows.toSorted((a, b) => {
    const [one, other] = [order(a), order(b)]
    if (one === undefined || other === undefined)
      return Number(one === undefined) - Number(other === undefined)
    if (typeof one === 'number' && typeof other === 'number') return sign * (one - other)
    return sign * String(one).localeCompare(String(other))
  })
}

const classOf = (isNumber?: boolean, isMinor?: boolean): string | undefined =>
  [isNumber && 'number', isMinor && 'minor'].filter(Boolean).join(' ') || undefined

/** The first cell is the link to the row's pane; a click anywhere in the row opens it, too. */
function Row<T>({
  row,
  index,
  id,
  props,
  isCursor,
  onFocus,
}: {
  row: T
  index: number
  id: string
  props: TableProps<T>
  isCursor: boolean
  onFocus: () => void
}) {
  const { columns, selection, actions, openId, at, pane, nameOf } = props
  const address = addressOf(at, id)
  const name = nameOf?.(row) ?? id
  const isMarked = selection.ids.has(id)
  return (
    // The link in the first cell does the same by keyboard.
    <tr
      aria-rowindex={index + 2}
      class={[openId === id && 'open-row', isMarked && 'marked-row'].filter(Boolean).join(' ') || undefined}
      onClick={(event) => {
        if ((event.target as Element).closest('a, button, input, label') || String(getSelection())) return
        if (event.shiftKey && actions) selection.mark(id, true)
        else if (pane) go(address)
      }}
    >
      {actions && (
        <td class="mark">
          <input
            type="checkbox"
            aria-label={`Mark ${name}`}
            checked={isMarked}
            onClick={(event) => {
              event.stopPropagation()
              selection.mark(id, event.shiftKey)
            }}
          />
        </td>
      )}
      {columns.map(({ name: column, cell, isNumber, isMinor }, nth) => (
        <td key={column} class={classOf(isNumber, isMinor)}>
          {nth === 0 && pane ? (
            <a
              class="open"
              href={address}
              tabIndex={isCursor ? 0 : -1}
              aria-current={openId === id ? 'true' : undefined}
              onFocus={onFocus}
            >
              {cell(row)}
            </a>
          ) : (
            cell(row)
          )}
        </td>
      ))}
    </tr>
  )
}
