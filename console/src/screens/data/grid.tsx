import { useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks'

import { singleKey } from '../../parts/keyboard.ts'
import { List } from '../../parts/list.tsx'
import { Owner } from '../../parts/owner.tsx'
import { useLoad } from '../../parts/load.tsx'
import { go, href, Link, place } from '../../parts/router.tsx'
import { canWrite } from '../../parts/session.ts'
import { Cell, isEditable, loadCellEditor } from './cell.tsx'
import { editing } from './edited-cell.ts'
import { DEFINITION, NEW, type FileFieldLimits } from './collection.ts'
import { gridQueryOf, loadFields, loadRows, type GridRow } from './documents.ts'
import { isFilterText } from './filter.ts'
import { Late, openLate } from '../../parts/late.tsx'
import type { ListColumn } from '../../parts/table.tsx'
import { Tool, type GridField, type ToolsProps } from './tool.tsx'
import { choicesOf, keepChoices } from './views.ts'

/** Columns that are shown until others are chosen. */
const COLUMNS_SHOWN = 4
const SHORT_ID = 12
const DOUBLE_CLICK_MS = 250

/** The fields that most documents have, of the first level; files are always shown. */
const usualColumns = (fields: readonly GridField[], files: readonly string[]): string[] => {
  const usual = fields
    .filter(({ path }) => !path.includes('.') && !['_id', 'createdAt', 'updatedAt'].includes(path))
    .toSorted((a, b) => b.documents - a.documents)
    .slice(0, COLUMNS_SHOWN)
    .map(({ path }) => path)
  return [...new Set([...usual, ...files.slice(0, 1)])]
}

/** The documents of a collection as a table. */
export default function Grid({ collection }: { collection: string }) {
  const [chosen, setChosen] = useState(() => choicesOf(collection).columns)
  const loaded = useLoad((signal) => loadFields(collection, signal), [collection])
  const knownFields = loaded.value
  const fields = knownFields?.fields ?? []
  const files = knownFields?.files ?? {}
  const columns = chosen ?? usualColumns(fields, Object.keys(files))
  function choose(names: readonly string[] | undefined): void {
    keepChoices(collection, { columns: names })
    setChosen(names)
  }
  const loadedRows = useRef(new Map<string, GridRow>())
  useEditing(loadedRows, columns)
  return (
    <List<GridRow>
      title={collection}
      at={['data', collection]}
      idOf={({ _id }) => _id}
      load={async (input) => {
        const { query } = place.value
        const isFilter = isFilterText(query.get('filter') ?? '')
        const fields = isFilter ? knownFields : (knownFields ?? (await loadFields(collection, input.signal)))
        const page = await loadRows(collection, gridQueryOf(query, fields), input)
        for (const row of page.rows) loadedRows.current.set(row._id, row)
        return page
      }}
      filters={[
        { kind: 'search', name: 'filter', label: 'Words, or a filter: {"year":1973}' },
        { kind: 'text', name: 'owner', label: 'Owner: email or id' },
      ]}
      canBeLive
      columns={[
        {
          name: '_id',
          title: '_id',
          cell: ({ _id }) => (_id.length > SHORT_ID ? `…${_id.slice(-8)}` : _id),
          width: '120px',
          sort: '_id',
        },
        ...columns.map((path, at) => ({
          ...columnOf(collection, path, files[path]),
          isMinor: at > 0,
        })),
        {
          name: '$owner',
          title: 'Owner',
          cell: ({ $preview: { owner } }) => owner && <Owner of={owner} />,
          order: ({ $preview: { owner } }) => owner,
          width: '180px',
          isMinor: true,
        },
        { ...columnOf(collection, 'updatedAt'), title: 'Updated', width: '132px' },
      ]}
      empty={
        <>
          <p>This collection has no documents.</p>
          <p>
            <Link to={href(['data', collection, NEW])}>Create the first one</Link>, or import a file.
          </p>
        </>
      }
      buttons={(again) => (
        <>
          <Link to={href(['data'])}>‹ Collections</Link>
          <Link to={href(['data', collection, DEFINITION])}>Fields and rules</Link>
          <Tools
            {...{ collection, columns, choose, again }}
            query={gridQueryOf(place.value.query, knownFields)}
            fields={knownFields && fields}
          />
        </>
      )}
      actions={(marked, done) => <MarkedActions {...{ collection, marked, done }} />}
      pane={(id, _row, again) => (
        <Late
          key={id}
          load={async () => ({ default: (await import('./document/index.tsx')).DocumentPane })}
          props={{ collection, id, files, onChange: again }}
        />
      )}
    />
  )
}

const loadFileCell = () => import('./file-cell.tsx')

const columnOf = (collection: string, path: string, files?: FileFieldLimits): ListColumn<GridRow> => ({
  name: path,
  title: path,
  sort: path,
  width: '160px',
  isMinor: true,
  cell: (row) =>
    files ? (
      <Late load={loadFileCell} props={{ row, path, collection }} />
    ) : (
      <Cell {...{ row, path, collection }} />
    ),
})

/** A double click edits a cell, and `e` the first one of the row that has the focus. */
function useEditing(rows: { current: ReadonlyMap<string, GridRow> }, columns: readonly string[]): void {
  // If it cannot be loaded, the cell that is edited says so.
  useEffect(() => void loadCellEditor().catch(() => undefined), [])
  useLayoutEffect(() => {
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
    const controller = new AbortController()
    const { signal } = controller
    document.addEventListener('keydown', onKeyDown, { signal })
    document.addEventListener('click', onClick, { capture: true, signal })
    document.addEventListener('dblclick', onDoubleClick, { signal })
    return () => {
      clearTimeout(opening)
      controller.abort()
    }
  }, [columns.join()])
}

/** What can be done with all documents that the filter finds. */
function Tools({ collection, query, columns, fields, choose, again }: ToolsProps) {
  // The routes of these take a filter, and would act on all documents.
  const isSearch = query.search !== ''
  const paths = (fields ?? []).map(({ path }) => path)
  return (
    <>
      <Tool
        title="Build filter"
        open={() => openLate(() => import('./builder.tsx'), { fields: paths })}
        disabled={!fields}
      />
      <Tool
        title="Columns"
        open={() => openLate(() => import('./columns.tsx'), { columns, fields: paths, choose })}
        disabled={!fields}
      />
      <Tool
        title="Export"
        open={() => openLate(() => import('./export.tsx'), { collection, query, columns })}
        disabled={isSearch}
      />
      <details class="menu">
        <summary>More</summary>
        <div>
          <Late
            load={() => import('./more.tsx')}
            props={{ collection, query, columns, fields, choose, again }}
          />
        </div>
      </details>
      <button
        type="button"
        class="small primary"
        disabled={!canWrite.value}
        onClick={() => go(href(['data', collection, NEW]))}
      >
        New
      </button>
    </>
  )
}

function MarkedActions(props: { collection: string; marked: readonly GridRow[]; done: () => void }) {
  const { collection, marked, done } = props
  const open = () =>
    openLate(() => import('./bulk.tsx'), {
      collection,
      filter: '',
      owner: '',
      ids: marked.map(({ _id }) => _id),
      again: done,
    })
  return (
    <button type="button" class="small" disabled={!canWrite.value || marked.length > 1000} onClick={open}>
      {marked.length > 1000 ? 'At most 1000' : 'Change or delete…'}
    </button>
  )
}
