import { useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks'

import { List } from '../../parts/list.tsx'
import { Owner } from '../../parts/owner.tsx'
import { useLoad } from '../../parts/load.tsx'
import { go, href, Link, place, setQuery } from '../../parts/router.tsx'
import { canWrite } from '../../parts/session.ts'
import { Cell } from './cell.tsx'
import { DEFINITION, NEW, type FileFieldLimits } from './collection.ts'
import { gridQueryOf, loadFields, loadRows, type GridRow, type KnownFields } from './documents.ts'
import { isFilterText, partsOfText, textOfParts } from './filter.ts'
import { Late, openLate } from '../../parts/late.tsx'
import type { ListColumn } from '../../parts/table.tsx'
import { Tool, type GridField, type ToolsProps } from './tool.tsx'
import { choicesOf, keepChoices } from './views.ts'

/** Columns that are shown until others are chosen. */
const COLUMNS_SHOWN = 4
const SHORT_ID = 12

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
  const ownerInAddress = place.value.query.get('owner')
  // A link or view from before the owner was a word of the field.
  useLayoutEffect(() => {
    if (ownerInAddress)
      setQuery({
        owner: undefined,
        filter: textOfParts(ownerInAddress, place.value.query.get('filter') ?? ''),
      })
  }, [ownerInAddress])
  const loadedRows = useRef(new Map<string, GridRow>())
  useEditing(loadedRows, columns)
  return (
    <List<GridRow>
      title={collection}
      at={['data', collection]}
      idOf={({ _id }) => _id}
      load={async (input) => {
        const { query } = place.value
        const { rest } = partsOfText(query.get('filter') ?? '')
        const fields = isFilterText(rest)
          ? knownFields
          : (knownFields ?? (await loadFields(collection, input.signal)))
        const page = await loadRows(collection, gridQueryOf(query, fields), input)
        for (const row of page.rows) loadedRows.current.set(row._id, row)
        return page
      }}
      filters={[
        {
          kind: 'search',
          name: 'filter',
          label: 'Words, a filter: {"year":1973}, or owner:EMAIL',
          button: {
            title: 'Build filter',
            open: () => openLate(() => import('./builder.tsx'), { fields: fields.map(({ path }) => path) }),
            disabled: !knownFields,
          },
        },
      ]}
      head={<WordsHint known={knownFields} collection={collection} />}
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

/** Where no index finds words, what is read instead. */
function WordsHint({ known, collection }: { known: KnownFields | undefined; collection: string }) {
  const { rest } = partsOfText(place.value.query.get('filter') ?? '')
  if (isFilterText(rest) || !known || known.search.length > 0) return null
  return (
    <div class="notice">
      <p>
        Every document is read for these letters. Declare <code>search</code> in the{' '}
        <Link to={href(['data', collection, DEFINITION])}>fields and rules</Link> to find words by an index.
      </p>
    </div>
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

/** Cells are edited once the script for it is loaded. */
function useEditing(rows: { current: ReadonlyMap<string, GridRow> }, columns: readonly string[]): void {
  useEffect(() => {
    const controller = new AbortController()
    import('./editing.ts').then(
      ({ followEdits }) => followEdits(rows, columns, controller.signal),
      () => undefined,
    )
    return () => controller.abort()
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
