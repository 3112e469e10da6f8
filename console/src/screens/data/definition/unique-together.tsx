import { useState } from 'preact/hooks'

import { Text } from '../../../parts/text.tsx'
import { groupsOf, withGroup, withoutGroup } from './unique-groups.ts'
import type { DefinitionDraft } from './use-definition.ts'

/** The fields that are unique together, and a form that adds some. */
export default function UniqueTogether({
  draft,
  paths,
}: {
  draft: DefinitionDraft
  paths: readonly string[]
}) {
  const [isAdding, setAdding] = useState(false)
  const groups = groupsOf(draft.definition!)
  if (groups.length === 0 && (draft.isLocked || paths.length < 2)) return null
  return (
    <section class="unique-together" aria-label="Unique together">
      <h3>Unique together</h3>
      <p class="hint">No two documents have the same in all fields of a line, such as a seat and a day.</p>
      {groups.length > 0 && (
        <ul>
          {groups.map(({ at, paths: together, ignoresCase }) => (
            <li key={at}>
              <Text>{together.join(' + ')}</Text>
              {ignoresCase && <span class="soft"> Ann and ANN are the same</span>}
              {!draft.isLocked && (
                <button
                  type="button"
                  class="plain small"
                  aria-label={`Remove ${together.join(' and ')}`}
                  title="Remove"
                  onClick={() => draft.edit((definition) => withoutGroup(definition, at))}
                >
                  <span aria-hidden="true">×</span>
                </button>
              )}
            </li>
          ))}
        </ul>
      )}
      {isAdding ? (
        <AddGroup draft={draft} paths={paths} close={() => setAdding(false)} />
      ) : (
        !draft.isLocked && (
          <button
            type="button"
            class="add"
            // What is typed and not right yet would be lost.
            disabled={draft.fault !== undefined}
            onClick={() => setAdding(true)}
          >
            Add fields that are unique together
          </button>
        )
      )}
    </section>
  )
}

function AddGroup(props: { draft: DefinitionDraft; paths: readonly string[]; close: () => void }) {
  const { draft, paths, close } = props
  const [chosen, setChosen] = useState<readonly string[]>([])
  const [ignoresCase, setIgnoresCase] = useState(false)
  return (
    <fieldset>
      <legend>Which fields</legend>
      <div class="detail-checks">
        {paths.map((path) => (
          <label key={path} class="check">
            <input
              type="checkbox"
              checked={chosen.includes(path)}
              onChange={({ currentTarget: { checked } }) =>
                setChosen(checked ? [...chosen, path] : chosen.filter((one) => one !== path))
              }
            />{' '}
            <Text>{path}</Text>
          </label>
        ))}
      </div>
      <label class="check">
        <input
          type="checkbox"
          checked={ignoresCase}
          onChange={(event) => setIgnoresCase(event.currentTarget.checked)}
        />{' '}
        Ann and ANN are the same
      </label>
      <div class="buttons">
        <button
          type="button"
          class="primary"
          disabled={chosen.length < 2}
          onClick={() => {
            draft.edit((definition) => withGroup(definition, { paths: [...chosen], ignoresCase }))
            close()
          }}
        >
          Add
        </button>
        <button type="button" onClick={close}>
          Cancel
        </button>
      </div>
    </fieldset>
  )
}
