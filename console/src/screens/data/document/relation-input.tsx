import { openLate } from '../../../parts/late.tsx'
import { useLoad } from '../../../parts/load.tsx'
import { href, Link } from '../../../parts/router.tsx'
import { six } from '../../../parts/session.ts'
import { Text } from '../../../parts/text.tsx'
import { titleOf } from './title.ts'

/** The documents that a field leads to, by their titles: a click leads on, another one is chosen from a list. */
export default function RelationInput(props: {
  to: string
  label: string
  isSeveral: boolean
  ids: readonly string[]
  isReadOnly: boolean
  onIds: (ids: readonly string[]) => void
}) {
  const { to, label, isSeveral, ids, isReadOnly, onIds } = props
  const choose = () =>
    openLate(() => import('./choose-document.tsx'), {
      to,
      label,
      onChoose: (one: string) => onIds(isSeveral ? [...ids.filter((other) => other !== one), one] : [one]),
    })
  return (
    <div class="relation-input">
      {ids.map((one) => (
        <span key={one} class="linked">
          <Linked to={to} id={one} />
          <button
            type="button"
            class="plain small"
            aria-label={`Take ${one} out of ${label}`}
            disabled={isReadOnly}
            onClick={() => onIds(ids.filter((other) => other !== one))}
          >
            <span aria-hidden="true">×</span>
          </button>
        </span>
      ))}
      <button type="button" class="small" disabled={isReadOnly} onClick={choose}>
        {ids.length === 0 || isSeveral ? 'Choose' : 'Choose another'}…<span class="quiet"> for {label}</span>
      </button>
    </div>
  )
}

/** A link with the title of the document; with its `_id` if there is none any more. */
function Linked({ to, id }: { to: string; id: string }) {
  const { value, error } = useLoad(
    async (signal) => titleOf(await six.collection<Record<string, unknown>>(to).get(id, { signal })),
    [to, id],
  )
  return (
    <>
      <Link to={href(['data', to, id])}>
        <Text>{value ?? id}</Text>
      </Link>
      {error !== undefined && <span class="fault">It is not there.</span>}
    </>
  )
}
