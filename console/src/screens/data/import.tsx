import { useState } from 'preact/hooks'

import type { Api, CallReply } from '../../../../client/src/index.ts'
import { Dialog } from '../../parts/dialog.tsx'
import { Choice, Field, Form } from '../../parts/form.tsx'
import { six } from '../../parts/session.ts'
import { bytes, Text } from '../../parts/text.tsx'
import { partsOf, textOf } from './file-parts.ts'

type Report = CallReply<Api, 'POST /store/:collection/import'>
/** Fields of the file that become what a document has of its own. */
const FROM_FIELDS = [
  ['ownerField', 'Owner from the field'],
  ['createdAt', 'Created from the field'],
  ['updatedAt', 'Updated from the field'],
] as const
type Options = {
  format: 'ndjson' | 'csv'
  ids: 'keep' | 'new'
  conflict: 'skip' | 'replace' | 'fail'
} & { [name in (typeof FROM_FIELDS)[number][0]]?: string }
type Plan = { file: File; options: Options; report: Report }

const ERRORS_SHOWN = 20
const BEGINNING_BYTES = 1_000

/** Whether a file has an array of JSON, which cannot be cut into lines. */
const beginsArray = async (file: File): Promise<boolean> =>
  /^[\s\ufeff]*\[/.test(await file.slice(0, BEGINNING_BYTES).text())

/** Sends a file in parts of whole records, or an array as it is. */
async function sendFile(
  collection: string,
  file: File,
  options: Options & { dryRun: boolean },
  show: (bytes: number) => void,
): Promise<Report> {
  const sum: Report = { created: 0, replaced: 0, skipped: 0, failed: 0, errors: [] }
  const isCsv = options.format === 'csv'
  const isArray = !isCsv && (await beginsArray(file))
  const parts = isArray ? [{ text: file, line: 1, bytes: file.size }] : partsOf(textOf(file), isCsv)
  for await (const part of parts) {
    const body = new FormData()
    body.set('file', new Blob([part.text]), file.name)
    const one = await six.call('POST /store/:collection/import', {
      params: { collection },
      query: options,
      body,
    })
    for (const name of ['created', 'replaced', 'skipped', 'failed'] as const) sum[name] += one[name]
    if (one.separator) sum.separator = one.separator
    const errors = one.errors.map((fault) => ({ ...fault, line: fault.line + part.line - 1 }))
    sum.errors = [...sum.errors, ...errors].slice(0, ERRORS_SHOWN)
    show(part.bytes)
  }
  return sum
}

/** Creates documents from a file: all lines are checked first, then written. */
export default function Import(props: { collection: string; again: () => void; close: () => void }) {
  const { collection, again, close } = props
  const [plan, setPlan] = useState<Plan>()
  const [done, setDone] = useState<Report>()
  const [progress, setProgress] = useState<{ bytes: number; of: number }>()

  async function check(all: FormData): Promise<void> {
    const file = all.get('file')
    if (!(file instanceof File) || file.size === 0) throw new Error('Choose a file.')
    const options = {
      format: /\.csv$/i.test(file.name) ? 'csv' : 'ndjson',
      ids: all.get('ids'),
      conflict: all.get('conflict'),
      ...Object.fromEntries(FROM_FIELDS.map(([name]) => [name, all.get(name) || undefined])),
    } as Options
    const show = (sent: number) => setProgress({ bytes: sent, of: file.size })
    setPlan({ file, options, report: await sendFile(collection, file, { ...options, dryRun: true }, show) })
    setProgress(undefined)
  }
  async function write({ file, options }: Plan): Promise<void> {
    const show = (sent: number) => setProgress({ bytes: sent, of: file.size })
    setDone(await sendFile(collection, file, { ...options, dryRun: false }, show))
    again()
  }
  const bar = progress && (
    <progress
      aria-label={`${bytes(progress.bytes)} of ${bytes(progress.of)}`}
      value={progress.bytes}
      max={progress.of}
    />
  )
  return (
    <Dialog title={`Import into ${collection}`} close={close}>
      {done ? (
        <>
          <Counts report={done} isDone />
          <div class="buttons end">
            <button type="button" class="primary" onClick={close}>
              Done
            </button>
          </div>
        </>
      ) : plan ? (
        <Form
          send={() => write(plan)}
          submit={`Import ${(plan.report.created + plan.report.replaced).toLocaleString()} documents`}
          disabled={plan.report.created + plan.report.replaced === 0}
          buttons={
            <button type="button" onClick={() => setPlan(undefined)}>
              Back
            </button>
          }
        >
          <Counts report={plan.report} />
          {bar}
        </Form>
      ) : (
        <Form send={async (_value, all) => check(all)} submit="Check" cancel={close}>
          <label class="field">
            <span>File of NDJSON or CSV, or an array of JSON</span>
            <input type="file" name="file" accept=".ndjson,.jsonl,.json,.csv,.txt" required />
          </label>
          <Choice
            name="ids"
            label="Ids"
            options={[
              ['keep', 'Keep _id and times of the file'],
              ['new', 'Give each document a new _id'],
            ]}
          />
          <Choice
            name="conflict"
            label="If a document has the _id already"
            options={[
              ['fail', 'Refuse the line'],
              ['skip', 'Skip the line'],
              ['replace', 'Replace the document'],
            ]}
          />
          <details>
            <summary>Owners and times of another system</summary>
            {FROM_FIELDS.map(([name, label]) => (
              <Field key={name} name={name} label={label} />
            ))}
          </details>
          {bar}
        </Form>
      )}
    </Dialog>
  )
}

const Counts = ({ report, isDone = false }: { report: Report; isDone?: boolean }) => {
  const { created, replaced, skipped, failed, errors, separator = ',' } = report
  return (
    <>
      <p role="status">
        {isDone ? 'Imported: ' : 'Nothing is written yet. It would be: '}
        {created} created, {replaced} replaced, {skipped} skipped, {failed} refused.
        {separator !== ',' && ` The cells are separated by ${separator === ';' ? 'semicolons' : 'tabs'}.`}
      </p>
      {errors.length > 0 && (
        <ul class="notice bad">
          {errors.map(({ line, message }) => (
            <li key={line}>
              Line {line}: <Text>{message}</Text>
            </li>
          ))}
        </ul>
      )}
    </>
  )
}
