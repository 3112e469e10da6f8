import { useState } from 'preact/hooks'

import { Dialog } from '../../parts/dialog.tsx'
import { Text } from '../../parts/text.tsx'

/** Chooses the columns of the grid; this browser keeps them. */
export default function Columns(props: {
  columns: readonly string[]
  fields: readonly string[]
  choose: (names: readonly string[] | undefined) => void
  close: () => void
}) {
  const { columns, fields, choose, close } = props
  const [chosen, setChosen] = useState(columns)
  const all = [...new Set([...columns, ...fields])].filter((one) => one !== '_id')
  return (
    <Dialog title="Columns" close={close}>
      <form
        class="form"
        onSubmit={(event) => {
          event.preventDefault()
          choose(chosen)
          close()
        }}
      >
        <fieldset class="fields choices">
          <legend>Fields of the newest documents</legend>
          {all.map((path) => (
            <label class="check" key={path}>
              <input
                type="checkbox"
                checked={chosen.includes(path)}
                onChange={(event) =>
                  setChosen(
                    event.currentTarget.checked ? [...chosen, path] : chosen.filter((one) => one !== path),
                  )
                }
              />{' '}
              <Text>{path}</Text>
            </label>
          ))}
        </fieldset>
        <div class="buttons">
          <button class="primary">Show these</button>
          <button
            type="button"
            onClick={() => {
              choose(undefined)
              close()
            }}
          >
            Reset
          </button>
        </div>
      </form>
    </Dialog>
  )
}
