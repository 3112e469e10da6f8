import { useEffect, useState } from 'preact/hooks'

import { isError } from '../../../../../client/src/index.ts'
import { Dialog } from '../../../parts/dialog.tsx'
import { JsonDiff } from '../../../parts/json-diff.tsx'
import { useLoad } from '../../../parts/load.tsx'
import { href } from '../../../parts/router.tsx'
import { Text } from '../../../parts/text.tsx'
import type { OfferedChange } from './field-changes.ts'
import { Offers } from './offers.tsx'
import { refusalLines, type DefinitionDraft, type DefinitionCheck } from './use-definition.ts'

/** What existing documents would fail, before a definition is put into force. */
export default function Review(props: {
  draft: DefinitionDraft
  saved: (isInForce: boolean) => void
  /** Another definition was put into force meanwhile. */
  outdated: () => void
  close: () => void
}) {
  const { draft, saved, outdated, close } = props
  const [offers] = useState(() => draft.changes())
  const counted = useLoad(
    async () => (offers.length === 0 ? [] : ((await draft.check(offers))?.changed ?? [])),
    [],
  )
  const counts = counted.value ?? []
  // What is dropped is lost: that is asked for.
  const [chosen, setChosen] = useState<readonly (OfferedChange | undefined)[]>(() =>
    offers.map((one) => ('drop' in one ? undefined : one)),
  )
  const changes = chosen.flatMap((one, at) => (one && counts[at] ? [one] : []))
  const checked = useLoad(
    async () => (counted.isLoading ? undefined : ((await draft.check(changes)) ?? {})),
    [counted.isLoading, JSON.stringify(changes)],
  )
  const [refusal, setRefusal] = useState<unknown>()
  const [isSending, setSending] = useState(false)
  const error = checked.error ?? refusal
  const isOutdated = isError(error, 'PRECONDITION_FAILED')
  useEffect(() => {
    if (!isOutdated) return
    close()
    outdated()
  }, [isOutdated])
  const report = isError(error, 'DEFINITION_REFUSED') ? (error.details as DefinitionCheck) : checked.value
  const isChecked = report !== undefined && error === undefined && !checked.isLoading
  const fits = isChecked && !report.unfit && !report.duplicates

  async function save(): Promise<void> {
    if (isSending) return
    setSending(true)
    try {
      const isInForce = await draft.save(changes)
      close()
      saved(isInForce)
    } catch (thrown) {
      setRefusal(thrown)
      setSending(false)
    }
  }
  return (
    <Dialog title={`Put the definition of ${draft.name} into force?`} close={close} wide>
      {checked.isLoading && <p role="status">Looking at the documents…</p>}
      {error !== undefined && (
        <div class="notice bad" role="alert">
          <strong>It cannot be put into force.</strong>
          <ul>
            {refusalLines(error).map((line) => (
              <li key={line}>
                <Text>{line}</Text>
              </li>
            ))}
          </ul>
        </div>
      )}
      {counted.error !== undefined && (
        <div class="notice warning" role="status">
          <strong>The documents stay as they are.</strong>
          <ul>
            {refusalLines(counted.error).map((line) => (
              <li key={line}>
                <Text>{line}</Text>
              </li>
            ))}
          </ul>
        </div>
      )}
      <Offers
        of={offers}
        counts={counts}
        chosen={chosen}
        choose={(at, change) => {
          setRefusal(undefined)
          setChosen((all) => all.with(at, change))
        }}
      />
      {report && <Documents of={report} collection={draft.name} close={close} />}
      {draft.base && (
        <details>
          <summary>What changes</summary>
          <JsonDiff before={draft.base} after={draft.definition} same="Nothing." />
        </details>
      )}
      <div class="buttons end">
        <button
          type="button"
          class="primary"
          disabled={!fits}
          aria-disabled={isSending}
          onClick={() => void save()}
        >
          {isSending ? 'Working…' : 'Put into force'}
        </button>
        <button type="button" autoFocus onClick={close}>
          Go on editing
        </button>
      </div>
    </Dialog>
  )
}

type DocumentsProps = { of: DefinitionCheck; collection: string; close: () => void }

function Documents(props: DocumentsProps) {
  const { documents = 0, unfit = 0, examples = [], duplicates } = props.of
  if (duplicates && unfit === 0) return <Duplicates {...props} />
  if (unfit === 0)
    return (
      <p role="status">
        {documents === 0
          ? 'No document is there that could be at odds with it.'
          : `All ${documents.toLocaleString()} documents fit.`}
      </p>
    )
  return (
    <div role="status">
      <p>
        {unfit.toLocaleString()} of {documents.toLocaleString()} documents do not fit. Change them first, or
        the definition:
      </p>
      <ul class="unfit">
        {examples.map(({ _id, issues }) => (
          <li key={_id}>
            <DocumentLink {...props} id={_id} />{' '}
            <Text>{issues.map(({ path, message }) => `${path.slice(1)} ${message}`).join('; ')}</Text>
          </li>
        ))}
      </ul>
      {duplicates && <Duplicates {...props} />}
    </div>
  )
}

const DocumentLink = ({ id, collection, close }: DocumentsProps & { id: string }) => (
  <a href={href(['data', collection, id])} onClick={close}>
    {id}
  </a>
)

/** What keeps fields from becoming unique. */
const Duplicates = (props: DocumentsProps) => (
  <div role="status">
    {props.of.duplicates!.map(({ fields, documents, examples, reason }) => (
      <div key={fields.join()}>
        <p>
          <Text>{fields.join(' and ')}</Text> cannot be unique:{' '}
          {reason === undefined
            ? `${documents.toLocaleString()} documents have what another one has. Change them first:`
            : `${reason}.`}
        </p>
        <ul class="unfit">
          {examples.map(({ _id, sameAs }) => (
            <li key={_id}>
              <DocumentLink {...props} id={_id} /> is the same as <DocumentLink {...props} id={sameAs} />
            </li>
          ))}
        </ul>
      </div>
    ))}
  </div>
)
