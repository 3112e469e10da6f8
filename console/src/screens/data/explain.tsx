import { Dialog } from '../../parts/dialog.tsx'
import { Show, useLoad } from '../../parts/load.tsx'
import { six } from '../../parts/session.ts'
import { Facts, Text } from '../../parts/text.tsx'
import { chosenOf, type GridQuery } from './documents.ts'
import { Indexes } from './indexes.tsx'

const PLANS = {
  index: 'An index leads to the documents.',
  union: 'Several indexes lead to the documents.',
  id: 'The documents are read in the order of their ids.',
  scan: 'Every document is read.',
  search: 'The words of the search lead to the documents.',
} as const

/** How the list of the grid is read, and what would make it faster. */
export default function Explain({
  collection,
  query,
  close,
}: {
  collection: string
  query: GridQuery
  close: () => void
}) {
  const { filter, search, sort } = chosenOf(query)
  const loaded = useLoad(
    (signal) =>
      six.call('GET /store/:collection/explain', {
        params: { collection },
        query: { filter, search, sort },
        signal,
      }),
    [],
  )
  return (
    <Dialog title="How this list is read" close={close} wide>
      <Show of={loaded}>
        {({ plan, index, examined, total, ms, suggestion, sort: sorting, indexes }) => (
          <>
            <Facts
              of={[
                ['Way', PLANS[plan]],
                index !== undefined && ['Index', <Text>{index}</Text>],
                sorting !== undefined && [
                  'Order',
                  sorting === 'index'
                    ? 'The entries are in the order of the list.'
                    : 'The documents are sorted.',
                ],
                ['Read', `${examined.entries} entries, ${examined.documents} documents`],
                ['Found', total.toLocaleString()],
                ['Time', `${ms} ms`],
              ]}
            />
            {suggestion !== undefined && (
              <div class="notice">
                <p>This index would serve the list. Write it into the configuration:</p>
                <code>
                  <Text>{suggestion}</Text>
                </code>
              </div>
            )}
            <h3>Indexes</h3>
            <Indexes of={indexes} />
          </>
        )}
      </Show>
      <div class="buttons end">
        <button type="button" onClick={close}>
          Close
        </button>
      </div>
    </Dialog>
  )
}
