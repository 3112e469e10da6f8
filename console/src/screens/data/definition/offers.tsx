import { useState } from 'preact/hooks'

import { readJson } from '../../../parts/json-text.ts'
import type { OfferedChange } from './field-changes.ts'

/** Changes of the documents that are there, each to be taken or left. */
export function Offers(props: {
  of: readonly OfferedChange[]
  /** How many documents each changes. */
  counts: readonly number[]
  chosen: readonly (OfferedChange | undefined)[]
  choose: (at: number, change: OfferedChange | undefined) => void
}) {
  const { of, counts, chosen, choose } = props
  if (counts.every((n) => n === 0)) return null
  return (
    <fieldset class="offers">
      <legend>Change the documents too?</legend>
      {of.map((change, at) =>
        counts[at] ? (
          <Offer
            key={at}
            of={change}
            documents={counts[at] === 1 ? '1 document' : `${counts[at].toLocaleString()} documents`}
            chosen={chosen[at]}
            choose={(next) => choose(at, next)}
          />
        ) : null,
      )}
      <p class="hint">
        It can be undone until it is done. A field that is neither renamed nor dropped stays in its documents.
      </p>
    </fieldset>
  )
}

function Offer(props: {
  of: OfferedChange
  documents: string
  chosen: OfferedChange | undefined
  choose: (change: OfferedChange | undefined) => void
}) {
  const { of, documents, chosen, choose } = props
  // What it was set to stays when it is left and taken again.
  const [latest, setLatest] = useState(of)
  return (
    <div class="offer">
      <label>
        <input
          type="checkbox"
          checked={chosen !== undefined}
          onChange={(event) => choose(event.currentTarget.checked ? latest : undefined)}
        />
        {'rename' in of ? (
          <span>
            Rename <code>{of.rename.from}</code> to <code>{of.rename.to}</code> in {documents}
          </span>
        ) : 'drop' in of ? (
          <span>
            Drop <code>{of.drop}</code> from {documents}
          </span>
        ) : (
          <span>
            Give {documents} without <code>{of.default.field}</code> a value
          </span>
        )}
      </label>
      {'default' in of && chosen && (
        <ValueInput
          field={of.default.field}
          first={of.default.value}
          change={(value) => {
            const next = { default: { field: of.default.field, value } }
            setLatest(next)
            choose(next)
          }}
        />
      )}
    </div>
  )
}

/** A text as it is; other values as JSON. */
function ValueInput(props: { field: string; first: unknown; change: (value: unknown) => void }) {
  const { field, first, change } = props
  const isText = typeof first === 'string'
  const [isWrong, setWrong] = useState(false)
  return (
    <input
      aria-label={`Value of ${field}`}
      aria-invalid={isWrong}
      defaultValue={isText ? first : JSON.stringify(first)}
      onChange={(event) => {
        const text = event.currentTarget.value
        if (isText) return change(text)
        const read = readJson(text)
        setWrong(!('value' in read))
        if ('value' in read) change(read.value)
      }}
    />
  )
}
