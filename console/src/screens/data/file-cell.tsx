import { signal } from '@preact/signals'
import { useEffect } from 'preact/hooks'

import { six } from '../../parts/session.ts'
import { Text } from '../../parts/text.tsx'
import { Thumbnail, type ShownFile } from '../files/preview.tsx'
import { valueIn, type GridRow } from './documents.ts'

const SHOWN = 3
const PAUSE_MS = 30

/** The records of files, by their ids. */
const files = signal<ReadonlyMap<string, ShownFile>>(new Map())
/** What cells in sight wait for. */
const wanted = new Map<object, { collection: string; path: string; document: string }>()
let timer: ReturnType<typeof setTimeout> | undefined

/** Loads the files of all cells that wait, in one query: a list with previews expands nothing. */
async function loadWanted(): Promise<void> {
  const cells = [...wanted.values()]
  wanted.clear()
  const [collection] = cells.map((one) => one.collection)
  if (collection === undefined) return
  const ids = [...new Set(cells.map(({ document }) => document))]
  const fields = [...new Set(cells.map(({ path }) => path))].join()
  const { data } = await six.call('GET /store/:collection', {
    params: { collection },
    query: {
      filter: JSON.stringify({ _id: { $in: ids } }),
      fields,
      expand: fields,
      limit: ids.length,
      total: 'none',
    },
  })
  const found = (data as { $expanded?: Record<string, ShownFile | ShownFile[]> }[]).flatMap(
    ({ $expanded = {} }) => Object.values($expanded).flat(),
  )
  files.value = new Map([...files.value, ...found.map((file) => [file._id, file] as const)])
}

/** The files of a document in the grid; their ids until they are loaded. */
export default function FileCell(props: { collection: string; row: GridRow; path: string }) {
  const { collection, row, path } = props
  const ids = [valueIn(row, path) ?? []].flat().filter((one) => typeof one === 'string')
  const count = row.$preview.cut[path]?.length ?? ids.length
  const found = ids.flatMap((id) => files.value.get(id) ?? [])
  useEffect(() => {
    if (ids.length === found.length) return
    const key = {}
    wanted.set(key, { collection, path, document: row._id })
    clearTimeout(timer)
    timer = setTimeout(() => void loadWanted().catch(() => undefined), PAUSE_MS)
    return () => wanted.delete(key)
  }, [ids.join()])
  if (found.length === 0) return ids.length === 0 ? null : <Text>{ids.join(', ')}</Text>
  return (
    <span class={count === 1 ? 'file-name' : 'file-name many'}>
      {found.slice(0, SHOWN).map((file) => (
        <Thumbnail key={file._id} file={file} />
      ))}
      <span>{count === 1 ? <Text>{found[0]!.originalName}</Text> : `${count} files`}</span>
    </span>
  )
}
