import { useState } from 'preact/hooks'

import { Dialog } from '../../../parts/dialog.tsx'
import { Show, useLoad } from '../../../parts/load.tsx'
import { six } from '../../../parts/session.ts'
import { bytes, Text } from '../../../parts/text.tsx'
import { Thumbnail } from '../../files/preview.tsx'
import type { FileFieldLimits } from '../collection.ts'

const SHOWN = 30

/** Chooses one of the files that are stored already: the latest, or those whose name has what is typed. */
export default function ChooseFile(props: {
  field: FileFieldLimits
  path: string
  onChoose: (id: string) => void
  close: () => void
}) {
  const { field, path, onChoose, close } = props
  const [q, setQ] = useState('')
  // A list finds one type, or all of a kind.
  const contentType = field.types?.length === 1 ? field.types[0] : undefined
  const found = useLoad(
    (signal) => {
      const query = { q: q || undefined, contentType, limit: SHOWN, total: 'none' as const }
      return six.call('GET /store/files', { query, signal })
    },
    [q],
  )
  return (
    <Dialog title={`Choose a file for ${path}`} close={close}>
      <input
        type="search"
        aria-label="Search names"
        placeholder="Search names"
        value={q}
        onInput={(event) => setQ(event.currentTarget.value.trim())}
      />
      <Show of={found}>
        {({ files }) =>
          files.length === 0 ? (
            <p class="soft">No stored file fits.</p>
          ) : (
            <ul class="stored-files">
              {files.map((file) => (
                <li key={file._id}>
                  <button
                    type="button"
                    class="plain"
                    onClick={() => {
                      onChoose(file._id)
                      close()
                    }}
                  >
                    <Thumbnail file={file} />
                    <Text>{file.originalName}</Text>
                    <span class="soft">{bytes(file.size)}</span>
                  </button>
                </li>
              ))}
            </ul>
          )
        }
      </Show>
      <div class="buttons end">
        <button type="button" onClick={close}>
          Cancel
        </button>
      </div>
    </Dialog>
  )
}
