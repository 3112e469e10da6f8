import { useState } from 'preact/hooks'

import { Dialog } from '../../../parts/dialog.tsx'
import { Show, useLoad } from '../../../parts/load.tsx'
import { Text } from '../../../parts/text.tsx'
import { gridQueryOf, loadFields, loadRows } from '../documents.ts'
import { titleOf } from './title.ts'

const SHOWN = 30

/** Chooses a document of a collection by its title: the latest, or those that have the words that are typed. */
export default function ChooseDocument(props: {
  to: string
  label: string
  onChoose: (id: string) => void
  close: () => void
}) {
  const { to, label, onChoose, close } = props
  const [words, setWords] = useState('')
  const found = useLoad(
    async (signal) => {
      const fields = words === '' ? undefined : await loadFields(to, signal)
      const query = gridQueryOf(new URLSearchParams({ filter: words }), fields)
      return (await loadRows(to, query, { cursor: undefined, signal })).rows.slice(0, SHOWN)
    },
    [to, words],
  )
  return (
    <Dialog title={`Choose ${label} of ${to}`} close={close}>
      <input
        type="search"
        aria-label={`Search ${to}`}
        placeholder={`Search ${to}`}
        value={words}
        onInput={(event) => setWords(event.currentTarget.value)}
      />
      <Show of={found}>
        {(rows) =>
          rows.length === 0 ? (
            <p class="soft">No document of {to} is found.</p>
          ) : (
            <ul class="stored-files">
              {rows.map((row) => (
                <li key={row._id}>
                  <button
                    type="button"
                    class="plain"
                    onClick={() => {
                      onChoose(row._id)
                      close()
                    }}
                  >
                    <Text>{titleOf(withoutMarks(row))}</Text> <span class="soft">…{row._id.slice(-8)}</span>
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

const withoutMarks = ({ $preview: _, ...fields }: Readonly<Record<string, unknown>>) => fields
