import { Choose } from '../../../parts/choose.tsx'
import { Text } from '../../../parts/text.tsx'
import { gridQueryOf, loadFields, loadRows } from '../documents.ts'
import { titleOf } from './title.ts'

const SHOWN = 30

/** Chooses a document of a collection by its title. */
export default function ChooseDocument(props: {
  to: string
  label: string
  onChoose: (id: string) => void
  close: () => void
}) {
  const { to, label, ...rest } = props
  async function find(words: string, signal: AbortSignal) {
    const fields = words === '' ? undefined : await loadFields(to, signal)
    const query = gridQueryOf(new URLSearchParams({ filter: words }), fields)
    return (await loadRows(to, query, { cursor: undefined, signal })).rows.slice(0, SHOWN)
  }
  return (
    <Choose
      {...rest}
      title={`Choose ${label} of ${to}`}
      search={`Search ${to}`}
      none={`No document of ${to} is found.`}
      find={find}
      show={(row) => (
        <>
          <Text>{titleOf(withoutMarks(row))}</Text> <span class="soft">…{row._id.slice(-8)}</span>
        </>
      )}
    />
  )
}

const withoutMarks = ({ $preview: _, ...fields }: Readonly<Record<string, unknown>>) => fields
