import { useState } from 'preact/hooks'

import { mergeJson, withValueAt, type JsonConflict } from './json-changes.ts'
import { Text } from './text.tsx'

type Fields = Record<string, unknown>

const SHOWN = 400

/**
 * What to do if another user has changed meanwhile what is being edited. What only one of the two changed is joined; for the rest the
 * reader chooses.
 */
export default function Conflict(props: {
  /** What it is called: `document`. */
  what: string
  base: Fields
  mine: Fields
  theirs: Fields
  /** Goes on with these fields, on top of theirs. */
  onJoin: (fields: Fields) => void
  onTheirs: () => void
}) {
  const { what, base, mine, theirs, onJoin, onTheirs } = props
  const { merged, conflicts } = mergeJson(base, mine, theirs)
  // By place in the list: whether theirs is taken.
  const [takenChanges, setTaken] = useState<ReadonlySet<number>>(new Set())
  const join = () =>
    onJoin(
      conflicts.reduce(
        (fields, { path, theirs: value }, at) =>
          takenChanges.has(at) ? withValueAt(fields, path, value) : fields,
        merged,
      ),
    )
  return (
    <section class="notice warning conflict" role="alert" aria-label="Conflict">
      <p>
        <strong>Someone else has changed this {what} since you opened it.</strong> Nothing was saved, and
        nothing you typed is lost.{' '}
        {conflicts.length === 0
          ? 'You changed different fields, so both can be kept.'
          : 'Choose what to keep; all other changes of both are kept.'}
      </p>
      {conflicts.map((conflict, at) => (
        <Choice
          key={conflict.path.join('/')}
          of={conflict}
          isTheirs={takenChanges.has(at)}
          onChoice={(isTheirs) => {
            const next = new Set(takenChanges)
            if (isTheirs) next.add(at)
            else next.delete(at)
            setTaken(next)
          }}
        />
      ))}
      <div class="buttons">
        <button type="button" class="primary" onClick={join}>
          {conflicts.length === 0 ? 'Keep both' : 'Keep the chosen values'}
        </button>
        <button type="button" onClick={onTheirs}>
          Discard my changes
        </button>
      </div>
    </section>
  )
}

function Choice(props: { of: JsonConflict; isTheirs: boolean; onChoice: (isTheirs: boolean) => void }) {
  const { path, mine, theirs } = props.of
  const name = path.join('.')
  return (
    <fieldset>
      <legend>
        <code>
          <Text>{name}</Text>
        </code>
      </legend>
      {(
        [
          [false, 'Mine', mine],
          [true, 'Theirs', theirs],
        ] as const
      ).map(([isTheirs, title, value]) => (
        <label key={title} class="check">
          <input
            type="radio"
            name={`conflict ${name}`}
            checked={props.isTheirs === isTheirs}
            onChange={() => props.onChoice(isTheirs)}
          />
          <span>
            {title}:{' '}
            <code>{value === undefined ? 'removed' : <Text>{cut(JSON.stringify(value))}</Text>}</code>
          </span>
        </label>
      ))}
    </fieldset>
  )
}

const cut = (text: string): string => (text.length > SHOWN ? `${text.slice(0, SHOWN)}…` : text)
