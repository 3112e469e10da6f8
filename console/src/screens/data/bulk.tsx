import { useState } from 'preact/hooks'

import type { Api, CallInput, CallReply } from '../../../../client/src/index.ts'
import { Dialog, withProof } from '../../parts/dialog.tsx'
import { Choice, Field, Form } from '../../parts/form.tsx'
import { six } from '../../parts/session.ts'
import { Text } from '../../parts/text.tsx'
import { filterOfText, valueOfText } from './filter.ts'

type Change = CallInput<Api, 'POST /store/:collection/bulk'>['body']
type Report = CallReply<Api, 'POST /store/:collection/bulk'>
type Action = 'set' | 'unset' | 'delete'

type BulkProps = {
  collection: string
  /** The filter of the list; the ids of marked documents take its place. */
  filter: string
  owner: string
  ids: string[] | undefined
  again: () => void
  close: () => void
}

const VERBS = { set: 'Set the field', unset: 'Remove the field', delete: 'Delete' } as const

/** Changes or deletes many documents: first they are counted, then their number is typed. */
export default function Bulk({ collection, filter, owner, ids, again, close }: BulkProps) {
  const [action, setAction] = useState<Action>('set')
  const [change, setChange] = useState<Change>()
  const [report, setReport] = useState<Report>()
  const [total, setTotal] = useState(0)
  const finish = () => {
    close()
    if (report) again()
  }
  const send = (body: Change) => six.call('POST /store/:collection/bulk', { params: { collection }, body })

  async function count(value: (name: string) => string): Promise<void> {
    const chosen = filterOfText(filter)
    if (!chosen) throw new Error('The filter of the list is not JSON.')
    const next: Change = {
      ...(ids ? { ids } : { filter: chosen, ...(owner && { owner }) }),
      action,
      ...(action === 'set' && { set: { [value('path')]: valueOfText(value('value')) } }),
      ...(action === 'unset' && { unset: [value('path')] }),
    }
    const { matched } = await send({ ...next, dryRun: true })
    setTotal(matched)
    setChange(next)
  }

  async function run(body: Change): Promise<void> {
    const sum: Report = { matched: total, changed: 0, skipped: 0, failed: 0, remaining: total, errors: [] }
    let cursor: string | undefined
    do {
      const part = await withProof(() =>
        send({ ...body, expected: sum.remaining, ...(cursor && { cursor }) }),
      )
      sum.changed += part.changed
      sum.skipped += part.skipped
      sum.failed += part.failed
      sum.remaining = part.remaining
      sum.errors = [...sum.errors, ...part.errors].slice(0, 20)
      cursor = part.nextCursor
      setReport({ ...sum })
    } while (cursor !== undefined)
  }

  return (
    <Dialog
      title={ids ? `Change ${ids.length} documents` : 'Change all documents of this list'}
      close={finish}
    >
      {report && report.remaining === 0 ? (
        <Outcome report={report} action={action} close={finish} />
      ) : change ? (
        <Typed
          number={total}
          verb={VERBS[action]}
          progress={report && total - report.remaining}
          run={() => run(change)}
          back={() => setChange(undefined)}
        />
      ) : (
        <Form send={count} submit="Count" cancel={finish}>
          <p class="soft">
            {ids
              ? 'The marked documents of '
              : filter || owner
                ? 'Documents that match the filter in '
                : 'Every document of '}
            <Text>{collection}</Text>. First they are counted; nothing changes yet.
          </p>
          <Choice
            name="action"
            label="What to do"
            options={[
              ['set', 'Set a field'],
              ['unset', 'Remove a field'],
              ['delete', 'Delete the documents'],
            ]}
            onChoice={(value) => setAction(value as Action)}
          />
          {action !== 'delete' && (
            <Field name="path" label="Field" hint="Dotted paths lead into objects." required />
          )}
          {action === 'set' && (
            <Field name="value" label="Value" hint='Text, or JSON: 12, true, null, ["a"].' />
          )}
        </Form>
      )}
    </Dialog>
  )
}

function Typed(props: {
  number: number
  verb: string
  progress: number | undefined
  run: () => Promise<void>
  back: () => void
}) {
  const { number, verb, progress, run, back } = props
  const [text, setText] = useState('')
  return (
    <Form
      send={run}
      submit={verb}
      isDangerous
      disabled={number === 0 || text.trim() !== String(number)}
      buttons={
        <button type="button" onClick={back}>
          Back
        </button>
      }
    >
      <p role="status">
        <strong>{number.toLocaleString()}</strong> {number === 1 ? 'document is' : 'documents are'} meant.
        Each is written as if alone: rules of the collection and hooks hold.
      </p>
      <Field name="number" label={`Type ${number} to continue`} inputMode="numeric" onText={setText} />
      {progress !== undefined && <progress aria-label="Progress" value={progress} max={number} />}
    </Form>
  )
}

const Outcome = ({ report, action, close }: { report: Report; action: Action; close: () => void }) => (
  <>
    <p role="status">
      {report.changed.toLocaleString()} {action === 'delete' ? 'deleted' : 'changed'}
      {report.skipped > 0 && `, ${report.skipped} skipped, because others had changed them`}
      {report.failed > 0 && `, ${report.failed} refused`}.
    </p>
    {report.errors.length > 0 && (
      <ul class="notice bad">
        {report.errors.map(({ _id, code, message }) => (
          <li key={_id}>
            <code>{_id}</code> {code}: <Text>{message}</Text>
          </li>
        ))}
      </ul>
    )}
    <div class="buttons end">
      <button type="button" class="primary" onClick={close}>
        Done
      </button>
    </div>
  </>
)
