import { confirm, Dialog, withProof } from '../../parts/dialog.tsx'
import { nameToType } from '../../parts/installation-name.tsx'
import { Show, useLoad } from '../../parts/load.tsx'
import { go, href } from '../../parts/router.tsx'
import { canWrite, serverUrl, six } from '../../parts/session.ts'
import { Copy, Facts, Text } from '../../parts/text.tsx'
import { toast } from '../../parts/toast.tsx'
import { DEFINITION, loadCollection, ruleText, type CollectionSummary } from './collection.ts'
import { chosenOf, type GridQuery } from './documents.ts'
import { Indexes } from './indexes.tsx'

type AboutProps = { collection: string; query: GridQuery; again: () => void; close: () => void }

/** The rules, indexes and size of a collection, how a program reads the list, and how to empty it. */
export default function About({ collection, query, again, close }: AboutProps) {
  const loaded = useLoad(async (signal) => (await loadCollection(collection, signal)) ?? null, [])
  return (
    <Dialog title={collection} close={close} wide>
      <Show of={loaded}>
        {(found) =>
          found ? (
            <>
              <Rules of={found} />
              <h3>Indexes</h3>
              <Indexes of={found.indexes} />
            </>
          ) : (
            <p>It has no documents, and no definition.</p>
          )
        }
      </Show>
      <h3>As code</h3>
      {codeOf(collection, query).map((code) => (
        <div class="code-line" key={code}>
          <pre tabIndex={0} aria-label="Code that reads this list">
            <code>
              <Text>{code}</Text>
            </code>
          </pre>
          <Copy text={code} what="the code" />
        </div>
      ))}
      <div class="buttons end">
        <button
          type="button"
          class="dangerous"
          disabled={!canWrite.value || !loaded.value}
          onClick={() => {
            close()
            void drop(collection, again)
          }}
        >
          Delete all documents…
        </button>
        <button
          type="button"
          onClick={() => {
            close()
            go(href(['data', collection, DEFINITION]))
          }}
        >
          Definition…
        </button>
        <button type="button" onClick={close}>
          Close
        </button>
      </div>
    </Dialog>
  )
}

const DEFINED = {
  configuration: 'in the configuration',
  stored: 'here',
  none: 'no: the policy decides',
} as const

const Rules = ({ of }: { of: CollectionSummary }) => {
  const { rules, documents, source, hidden, readOnly, unique, relations, search, hooks, schema } = of
  const names = (list: readonly string[]) => list.length > 0 && <Text>{list.join(', ')}</Text>
  const fact = (title: string, list: readonly string[]) => list.length > 0 && ([title, names(list)] as const)
  return (
    <Facts
      of={[
        ['Documents', documents.toLocaleString()],
        ['Defined', DEFINED[source]],
        ['Read', <Text>{ruleText(rules.read)}</Text>],
        ['Create', <Text>{ruleText(rules.create)}</Text>],
        ['Update', <Text>{ruleText(rules.update)}</Text>],
        ['Delete', <Text>{ruleText(rules.delete)}</Text>],
        schema && ['Schema', 'Documents are checked by a JSON Schema.'],
        fact('Hidden', hidden),
        fact('Read-only', readOnly),
        fact(
          'Unique',
          unique.map(({ fields }) => fields.join(' and ')),
        ),
        fact('Search', search),
        fact(
          'Relations',
          Object.entries(relations).map(([field, { to, onDelete }]) => `${field} → ${to} (${onDelete})`),
        ),
        fact('Hooks', hooks),
      ]}
    />
  )
}

function codeOf(collection: string, query: GridQuery): string[] {
  const { filter, search, sort } = chosenOf(query)
  const parameters = new URLSearchParams(chosenOf(query)).toString()
  const curl = `curl -s '${serverUrl}/store/${collection}${parameters && `?${parameters.replaceAll("'", '%27')}`}' \\
  -H "authorization: Bearer $TOKEN"`
  const of = [
    filter && `filter: ${filter}`,
    search && `search: ${JSON.stringify(search)}`,
    sort && `sort: ${JSON.stringify(sort)}`,
  ]
    .filter(Boolean)
    .join(', ')
  return [
    curl,
    `for await (const one of six.collection('${collection}').all(${of && `{ ${of} }`})) console.log(one)`,
  ]
}

/** Deletes all documents of a collection, once their number is typed; in production, the name of the installation. */
async function drop(collection: string, again: () => void): Promise<void> {
  const currentCollection = await loadCollection(collection, new AbortController().signal)
  const documents = currentCollection?.documents ?? 0
  confirm({
    title: `Delete all documents of ${collection}?`,
    verb: 'Delete all',
    type: nameToType() ?? String(documents),
    children: (
      <p>
        All {documents.toLocaleString()} documents are deleted at once and cannot be brought back. Hooks do
        not run; the indexes and files stay.
      </p>
    ),
    async act() {
      await withProof(() =>
        six.call('DELETE /store/:collection', { params: { collection }, query: { documents } }),
      )
      toast(`The documents of ${collection} are deleted.`)
      again()
    },
  })
}
