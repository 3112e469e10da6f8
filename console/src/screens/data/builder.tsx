import { useState } from 'preact/hooks'

import { Dialog } from '../../parts/dialog.tsx'
import { place, setQuery } from '../../parts/router.tsx'
import {
  builtOf,
  filterOf,
  filterOfText,
  OPERATORS,
  partsOfText,
  textOfFilter,
  textOfParts,
  textOfValue,
  valueOfText,
  type BuiltFilter,
  type Condition,
  type FilterJson,
  type FilterOperator,
} from './filter.ts'

const SERVICE = ['_id', 'createdAt', 'updatedAt']
const NOTHING: BuiltFilter = { match: 'all', conditions: [] }

const patternOf = (value: FilterJson): string => (typeof value === 'string' ? value : textOfValue(value))

/** The value that fits an operator, if another one was chosen. */
function withOperator({ path, value }: Condition, operator: FilterOperator): Condition {
  if (operator === '$exists') return { path, operator, value: value !== false }
  const isList = operator === '$in' || operator === '$nin'
  if (isList !== Array.isArray(value)) return { path, operator, value: isList ? [value] : '' }
  return { path, operator, value: operator === '$regex' ? patternOf(value) : value }
}

/** Builds the filter of the address by conditions. */
export default function Builder({ fields, close }: { fields: readonly string[]; close: () => void }) {
  const { owner, rest: text } = partsOfText(place.value.query.get('filter') ?? '')
  const filter = filterOfText(text)
  const [built, setBuilt] = useState(() => (filter ? (builtOf(filter) ?? undefined) : undefined))
  if (!built)
    return (
      <Dialog title="Build a filter" close={close}>
        <p>The filter in the field cannot be shown as conditions.</p>
        <div class="buttons end">
          <button type="button" onClick={close}>
            Keep it
          </button>
          <button type="button" class="primary" onClick={() => setBuilt(NOTHING)}>
            Start with no conditions
          </button>
        </div>
      </Dialog>
    )
  const { match, conditions } = built
  const change = (at: number, condition: Condition | undefined) =>
    setBuilt({ match, conditions: conditions.flatMap((one, i) => (i === at ? (condition ?? []) : one)) })
  const add = () =>
    setBuilt({
      match,
      conditions: [
        ...conditions,
        { path: fields.find((one) => !SERVICE.includes(one)) ?? '_id', operator: '$eq', value: '' },
      ],
    })
  return (
    <Dialog title="Build a filter" close={close} wide>
      <form
        class="form"
        onSubmit={(event) => {
          event.preventDefault()
          setQuery({
            filter: textOfParts(owner, conditions.length === 0 ? '' : textOfFilter(filterOf(built))),
          })
          close()
        }}
      >
        {conditions.length > 1 && (
          <select
            aria-label="Which conditions must match"
            value={match}
            onChange={(event) =>
              setBuilt({ conditions, match: event.currentTarget.value === 'any' ? 'any' : 'all' })
            }
          >
            <option value="all">All conditions match</option>
            <option value="any">Any condition matches</option>
          </select>
        )}
        <datalist id="fields-of-collection">
          {fields.map((one) => (
            <option key={one} value={one} />
          ))}
        </datalist>
        <ul class="conditions">
          {conditions.map((condition, at) => (
            <li key={at}>
              <ConditionFields condition={condition} number={at + 1} change={(next) => change(at, next)} />
            </li>
          ))}
        </ul>
        <div>
          <button type="button" class="small" onClick={add}>
            Add a condition
          </button>
        </div>
        <div class="buttons">
          <button class="primary">Apply</button>
          <button type="button" onClick={close}>
            Cancel
          </button>
        </div>
        {conditions.length > 0 && (
          <pre class="json" tabIndex={0} aria-label="The filter as JSON">
            <code>{textOfFilter(filterOf(built))}</code>
          </pre>
        )}
      </form>
    </Dialog>
  )
}

function ConditionFields(props: {
  condition: Condition
  number: number
  change: (condition: Condition | undefined) => void
}) {
  const { condition, number, change } = props
  const { path, operator, value } = condition
  return (
    <>
      <input
        aria-label={`Field of condition ${number}`}
        list="fields-of-collection"
        value={path}
        required
        autoComplete="off"
        onInput={(event) => change({ ...condition, path: event.currentTarget.value })}
      />
      <select
        aria-label={`Operator of condition ${number}`}
        value={operator}
        onChange={(event) => change(withOperator(condition, event.currentTarget.value as FilterOperator))}
      >
        {Object.entries(OPERATORS).map(([name, title]) => (
          <option key={name} value={name}>
            {title}
          </option>
        ))}
      </select>
      {operator === '$exists' ? (
        <select
          aria-label={`Value of condition ${number}`}
          value={value === false ? 'false' : 'true'}
          onChange={(event) => change({ ...condition, value: event.currentTarget.value === 'true' })}
        >
          <option value="true">yes</option>
          <option value="false">no</option>
        </select>
      ) : (
        <input
          aria-label={`Value of condition ${number}`}
          placeholder='text, 12, true, null, "12", ["a","b"]'
          defaultValue={operator === '$regex' ? patternOf(value) : textOfValue(value)}
          autoComplete="off"
          onInput={({ currentTarget: { value: text } }) =>
            change({ ...condition, value: operator === '$regex' ? text : valueOfText(text) })
          }
        />
      )}
      <button
        type="button"
        class="small"
        aria-label={`Remove condition ${number}`}
        onClick={() => change(undefined)}
      >
        ×
      </button>
    </>
  )
}
