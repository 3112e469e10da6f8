import { useState } from 'preact/hooks'

import { CallView } from '../../code/call-view.tsx'
import { collectionCalls, type SampleCollection } from '../../code/collection-calls.ts'
import type { SampleFields } from '../../code/call.ts'
import type { ExampleSchema } from '../../code/example.ts'
import { Dialog } from '../../parts/dialog.tsx'
import { Show, useLoad } from '../../parts/load.tsx'
import { serverUrl, six } from '../../parts/session.ts'
import { Tabs } from '../../parts/tabs.tsx'

type ApiProps = { collection: string; again: () => void; close: () => void }

/** How programs use a collection: each call in several languages, with the fields of the collection. */
export default function ApiDialog({ collection, again, close }: ApiProps) {
  const loaded = useLoad((signal) => loadSample(collection, signal), [collection])
  return (
    <Dialog title={`API of ${collection}`} close={close} wide>
      <Show of={loaded}>{(found) => <Calls of={found} again={again} />}</Show>
      <div class="buttons end">
        <button type="button" onClick={close}>
          Close
        </button>
      </div>
    </Dialog>
  )
}

/** The actions that are about one document. */
const OF_ONE = new Set(['get', 'change', 'delete'])
/** Shown in code while the collection has no document. */
const NO_ID = 'ID'

function Calls({ of, again }: { of: SampleCollection; again: () => void }) {
  const [id, setId] = useState((of.document?.['_id'] as string | undefined) ?? NO_ID)
  return (
    <Tabs
      label="Calls"
      query={null}
      tabs={collectionCalls(serverUrl, of, id).map(({ name, title, call }) => ({
        name,
        title,
        show: () => (
          <div class="sample">
            {OF_ONE.has(name) && (
              <label class="field">
                Document
                <input
                  value={id}
                  autoComplete="off"
                  spellcheck={false}
                  onInput={({ currentTarget }) => setId(currentTarget.value.trim() || NO_ID)}
                />
              </label>
            )}
            <CallView
              call={call}
              done={({ json }) => {
                // What was created is what the next calls are about.
                if (name === 'create' || name === 'upload') setId((json as { _id: string })._id)
                if (call.method !== 'GET') again()
              }}
            />
          </div>
        ),
      }))}
    />
  )
}

type Definition = {
  schema?: ExampleSchema
  hidden?: readonly string[]
  readOnly?: readonly string[]
  relations?: Readonly<Record<string, { to: string }>>
  files?: Readonly<Record<string, { types?: readonly string[] }>>
}

async function loadSample(name: string, signal: AbortSignal): Promise<SampleCollection> {
  const [{ definition }, document] = await Promise.all([
    six.call('GET /store/collections/:name', { params: { name }, signal }),
    newest(name, signal),
  ])
  const { schema, hidden = [], readOnly = [], relations = {}, files = {} } = (definition ?? {}) as Definition
  const related = await Promise.all(
    Object.entries(relations).map(
      async ([path, { to }]) => [path, (await newest(to, signal))?.['_id'] as string | undefined] as const,
    ),
  )
  return {
    name,
    schema,
    files: Object.fromEntries(Object.entries(files).map(([path, { types = [] }]) => [path, types])),
    guarded: [...hidden, ...readOnly],
    related: Object.fromEntries(related),
    document,
  }
}

async function newest(collection: string, signal: AbortSignal): Promise<SampleFields | undefined> {
  const { data } = await six.call('GET /store/:collection', {
    params: { collection },
    query: { limit: 1, total: 'none' },
    signal,
  })
  return data[0] as SampleFields | undefined
}
