import type { ListFilter } from '../../parts/filters.tsx'
import { List, type ListProps } from '../../parts/list.tsx'
import { Owner } from '../../parts/owner.tsx'
import { Late, openLate } from '../../parts/late.tsx'
import { place, setQuery } from '../../parts/router.tsx'
import { canWrite, six } from '../../parts/session.ts'
import { bytes, Text, Time } from '../../parts/text.tsx'
import { removeMany } from './bulk.tsx'
import { Thumbnail, type ShownFile } from './preview.tsx'
import { States } from './states.tsx'
import { UploadButton, uploads } from './upload.tsx'

const KINDS = [
  ['image/*', 'Images'],
  ['text/*', 'Texts'],
  ['application/pdf', 'PDF'],
  ['audio/*', 'Audio'],
  ['video/*', 'Video'],
] as const

const FILTERS: readonly ListFilter[] = [
  { kind: 'search', name: 'q', label: 'Search names' },
  { kind: 'choice', name: 'contentType', label: 'Type', options: KINDS },
  { kind: 'text', name: 'owner', label: 'Owner: email or id' },
]

const PAGE = 100

function filterOfAddress(): { q?: string; contentType?: string; owner?: string } {
  const { query } = place.value
  return Object.fromEntries(
    (['q', 'contentType', 'owner'] as const).flatMap((name) => {
      const value = query.get(name)?.trim()
      return value ? [[name, value]] : []
    }),
  )
}

const SORTS = [
  'originalName',
  '-originalName',
  'contentType',
  '-contentType',
  'size',
  '-size',
  'createdAt',
  '-createdAt',
] as const
type Sort = (typeof SORTS)[number]

async function loadFiles({ cursor, signal }: { cursor: string | undefined; signal: AbortSignal }) {
  const chosen = place.value.query.get('sort')
  const sort: Sort = SORTS.find((one) => one === chosen) ?? '-createdAt'
  const query = { ...filterOfAddress(), sort, cursor, limit: PAGE, total: 'none' as const }
  const { files, nextCursor } = await six.call('GET /store/files', { query, signal })
  return { rows: files, nextCursor }
}

/** All files: a list with small pictures, or larger ones side by side. */
export default function Files() {
  const isGrid = place.value.query.get('view') === 'grid'
  const common = {
    load: loadFiles,
    filters: FILTERS,
    empty: <p>No files yet. Upload the first one, or let your application do it: POST /store/upload.</p>,
    buttons: (again: () => void) => <Buttons again={again} isGrid={isGrid} />,
    pane: (id: string, file: ShownFile | undefined, again: () => void) => (
      <Late key={id} load={() => import('./pane.tsx')} props={{ id, file, again }} />
    ),
  }
  return (
    <div class="files">
      {isGrid ? <Late load={() => import('./grid.tsx')} props={common} /> : <FileTable {...common} />}
    </div>
  )
}

function FileTable(props: Pick<ListProps<ShownFile>, 'load' | 'filters' | 'empty' | 'buttons' | 'pane'>) {
  return (
    <List<ShownFile>
      {...props}
      title="Files"
      at={['files']}
      idOf={({ _id }) => _id}
      nameOf={({ originalName }) => originalName}
      columns={[
        {
          name: 'name',
          title: 'Name',
          sort: 'originalName',
          cell: (file) => (
            <span class="file-name">
              <Thumbnail file={file} />
              <span>
                <Text>{file.originalName}</Text>
              </span>
            </span>
          ),
        },
        {
          name: 'type',
          title: 'Type',
          sort: 'contentType',
          width: '150px',
          isMinor: true,
          cell: ({ contentType }) => <Text>{contentType}</Text>,
        },
        {
          name: 'size',
          title: 'Size',
          sort: 'size',
          width: '96px',
          isNumber: true,
          cell: ({ size }) => bytes(size),
        },
        {
          name: 'state',
          title: 'Access',
          width: '132px',
          isMinor: true,
          cell: (file) => <States of={file} isWhole />,
          order: ({ access }) => access,
        },
        {
          name: 'owner',
          title: 'Owner',
          width: '180px',
          isMinor: true,
          cell: ({ owner }) => owner && <Owner of={owner} />,
          order: ({ owner }) => owner,
        },
        {
          name: 'created',
          title: 'Uploaded',
          sort: 'createdAt',
          width: '140px',
          isMinor: true,
          cell: ({ createdAt }) => <Time at={createdAt} />,
        },
      ]}
      actions={(marked, done) => (
        <button
          type="button"
          class="dangerous small"
          disabled={!canWrite.value}
          onClick={() => void removeMany({ ids: marked.map(({ _id }) => _id) }, done)}
        >
          Delete
        </button>
      )}
    />
  )
}

function Buttons({ again, isGrid }: { again: () => void; isGrid: boolean }) {
  const filter = filterOfAddress()
  return (
    <>
      <UploadButton onDone={again} />
      {Object.keys(filter).length > 0 && (
        <button
          type="button"
          class="small"
          disabled={!canWrite.value}
          onClick={() => void removeMany({ filter }, again)}
        >
          Delete all matches
        </button>
      )}
      <button type="button" class="small" onClick={() => openLate(() => import('./usage.tsx'), {})}>
        Storage
      </button>
      <button
        type="button"
        class="small"
        aria-pressed={isGrid}
        onClick={() => setQuery({ view: isGrid ? undefined : 'grid' })}
      >
        Grid
      </button>
      {uploads.value.length > 0 && <Late load={() => import('./uploads.tsx')} props={{ onDone: again }} />}
    </>
  )
}
