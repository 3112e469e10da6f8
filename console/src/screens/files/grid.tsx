import type { ComponentChildren } from 'preact'

import { Filters, type ListFilter } from '../../parts/filters.tsx'
import { Pane } from '../../parts/list.tsx'
import { Problem } from '../../parts/load.tsx'
import { href, place } from '../../parts/router.tsx'
import { useRows, type LoadRows } from '../../parts/rows.ts'
import { bytes, Text } from '../../parts/text.tsx'
import { Thumbnail, type ShownFile } from './preview.tsx'
import { States } from './states.tsx'

const idOf = ({ _id }: ShownFile): string => _id

/** Files side by side, with larger pictures than the list has. */
export default function Grid(props: {
  load: LoadRows<ShownFile>
  filters: readonly ListFilter[]
  empty: ComponentChildren
  buttons: (again: () => void) => ComponentChildren
  pane: (id: string, file: ShownFile | undefined, again: () => void) => ComponentChildren
}) {
  const { query, path } = place.value
  const [openId] = path
  const values = [...props.filters.map(({ name }) => query.get(name) ?? ''), query.get('sort') ?? '']
  const list = useRows(props.load, idOf, values, false)
  const { rows, error, isLoading, hasMore } = list
  return (
    <div class={openId === undefined ? 'screen list' : 'screen list with-pane'}>
      <section class="records" aria-label="Files">
        <div class="bar">
          <h1 tabIndex={-1}>Files</h1>
          <div class="buttons">{props.buttons(list.again)}</div>
        </div>
        <Filters of={props.filters} />
        {error !== undefined && <Problem error={error} again={list.again} />}
        <div class="cards-scroller" tabIndex={-1}>
          <ul class="cards">
            {rows.map((file) => (
              <li key={file._id}>
                <a
                  href={href(['files', file._id], query)}
                  aria-current={openId === file._id ? 'true' : undefined}
                >
                  <Thumbnail file={file} isMedium />
                  <span class="name">
                    <Text>{file.originalName}</Text>
                  </span>
                  <span class="soft">
                    {bytes(file.size)} <States of={file} />
                  </span>
                </a>
              </li>
            ))}
          </ul>
          {isLoading && rows.length === 0 && (
            <p class="loading" role="status">
              Loading…
            </p>
          )}
          {!isLoading && rows.length === 0 && error === undefined && <div class="empty">{props.empty}</div>}
          {hasMore && (
            <p class="more">
              <button type="button" onClick={list.more} disabled={isLoading}>
                {isLoading ? 'Loading…' : 'Load more'}
              </button>
            </p>
          )}
        </div>
      </section>
      {openId !== undefined && (
        <Pane at={['files']} key={openId}>
          {props.pane(
            openId,
            rows.find((file) => file._id === openId),
            list.again,
          )}
        </Pane>
      )}
    </div>
  )
}
