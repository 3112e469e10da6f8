import type { ComponentChildren } from 'preact'
import { useState } from 'preact/hooks'

import { Dialog } from './dialog.tsx'
import { Show, useLoad } from './load.tsx'

type Chosen = { readonly _id: string }

/** A dialog that chooses one of what a search finds: the latest, or those that have what is typed. */
export function Choose<T extends Chosen>(props: {
  title: string
  /** Of the field that is typed into. */
  search: string
  /** What is said if nothing is found. */
  none: string
  find: (typed: string, signal: AbortSignal) => Promise<readonly T[]>
  show: (one: T) => ComponentChildren
  onChoose: (id: string) => void
  close: () => void
}) {
  const { title, search, none, find, show, onChoose, close } = props
  const [typed, setTyped] = useState('')
  const found = useLoad((signal) => find(typed.trim(), signal), [typed.trim()])
  return (
    <Dialog title={title} close={close}>
      <input
        type="search"
        aria-label={search}
        placeholder={search}
        value={typed}
        onInput={(event) => setTyped(event.currentTarget.value)}
      />
      <Show of={found}>
        {(all) =>
          all.length === 0 ? (
            <p class="soft">{none}</p>
          ) : (
            <ul class="stored-files">
              {all.map((one) => (
                <li key={one._id}>
                  <button
                    type="button"
                    class="plain"
                    onClick={() => {
                      onChoose(one._id)
                      close()
                    }}
                  >
                    {show(one)}
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
