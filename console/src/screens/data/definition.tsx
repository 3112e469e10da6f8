import { useState } from 'preact/hooks'

import { isError, type Api, type CallReply } from '../../../../client/src/index.ts'
import { Dialog, withProof } from '../../parts/dialog.tsx'
import { JsonDiff } from '../../parts/json-diff.tsx'
import { JsonEditor } from '../../parts/json-editor.tsx'
import { readJson } from '../../parts/json-text.ts'
import { messageOf, Show, useLoad } from '../../parts/load.tsx'
import { canWrite, six } from '../../parts/session.ts'
import { Badge, Text, Time } from '../../parts/text.tsx'
import { toast } from '../../parts/toast.tsx'

type Definition = CallReply<Api, 'GET /store/collections/:name'>
type Version = CallReply<Api, 'GET /store/collections/:name/versions'>['data'][number]
type Report = NonNullable<Definition['report']>
type Body = Parameters<typeof six.call<'PUT /store/collections/:name'>>[1]['body']

const FIRST: Body = { read: 'owner', create: 'user', update: 'owner', delete: 'owner' }
const TONES = { active: 'good', pending: 'warning', past: 'plain', refused: 'bad' } as const

const textOf = (value: unknown): string => JSON.stringify(value, null, 2)

/** The definition of a collection: as JSON, with what the documents say to it, and its versions. */
export default function DefinitionDialog(props: {
  collection: string
  again: () => void
  close: () => void
}) {
  const { collection: name, close } = props
  const loaded = useLoad(
    async (signal) => {
      const params = { name }
      const [now, { data }] = await Promise.all([
        six.call('GET /store/collections/:name', { params, signal }),
        six.call('GET /store/collections/:name/versions', { params, signal }),
      ])
      return { now, versions: data }
    },
    [name],
  )
  return (
    <Dialog title={`Definition of ${name}`} close={close} wide>
      <Show of={loaded}>{(found) => <DefinitionForm {...props} {...found} />}</Show>
    </Dialog>
  )
}

function DefinitionForm({
  collection: name,
  now,
  versions,
  again,
  close,
}: {
  collection: string
  now: Definition
  versions: readonly Version[]
  again: () => void
  close: () => void
}) {
  const [text, setText] = useState(textOf(now.definition ?? FIRST))
  const [report, setReport] = useState<Report>()
  const [error, setError] = useState<string>()
  const [isSending, setSending] = useState(false)
  const isLocked = now.source === 'configuration' || !canWrite.value

  async function send(dryRun: boolean): Promise<void> {
    const json = readJson(text)
    if (!('value' in json)) return setError(json.faults[0]!.message)
    setError(undefined)
    setReport(undefined)
    setSending(true)
    try {
      const answered = await withProof(() =>
        six.call('PUT /store/collections/:name', {
          params: { name },
          query: { dryRun },
          body: json.value as Body,
          ...(now.version !== undefined && { headers: { 'if-match': `"${now.version}"` } }),
        }),
      )
      if (dryRun) return setReport(answered.report)
      const isPending = answered.newest?.state === 'pending'
      toast(isPending ? `${name} is being changed.` : `The definition of ${name} is in force.`)
      close()
      again()
    } catch (thrown) {
      setError(messageOf(thrown))
      if (isError(thrown, 'DEFINITION_REFUSED')) setReport(thrown.details)
    } finally {
      setSending(false)
    }
  }

  return (
    <>
      <Origin of={now} />
      <JsonEditor
        label="Definition"
        text={text}
        onText={setText}
        onSave={() => void send(false)}
        isReadOnly={isLocked}
      />
      {error !== undefined && (
        <p class="problem" role="alert">
          <Text>{error}</Text>
        </p>
      )}
      {report && <Documents of={report} />}
      {versions.length > 0 && <Versions of={versions} now={now} open={(one) => setText(textOf(one))} />}
      <div class="buttons end">
        <button type="button" disabled={isLocked || isSending} onClick={() => void send(true)}>
          Check documents
        </button>
        <button
          type="button"
          class="primary"
          disabled={isLocked || isSending}
          onClick={() => void send(false)}
        >
          Put into force
        </button>
        <button type="button" onClick={close}>
          Close
        </button>
      </div>
    </>
  )
}

const Origin = ({ of }: { of: Definition }) =>
  of.source === 'configuration' ? (
    <p class="soft">
      It stands in <code>{of.file}</code>: change it there, and start the server again.
    </p>
  ) : (
    <p class="soft">
      {of.source === 'none' ? 'It is not defined: the policy decides. Begin with this. ' : ''}
      Rules, schema, unique fields, relations, files and search, as docs/collections.md explains them.
    </p>
  )

const Documents = ({ of: { documents = 0, unfit = 0, examples = [] } }: { of: Report }) =>
  unfit === 0 ? (
    <p role="status">
      All {documents.toLocaleString()} documents fit. Unique fields are compared when it is put into force.
    </p>
  ) : (
    <div role="status">
      <p>
        {unfit.toLocaleString()} of {documents.toLocaleString()} documents do not fit:
      </p>
      <ul>
        {examples.map(({ _id, issues }) => (
          <li key={_id}>
            <code>{_id}</code>{' '}
            <Text>{issues.map(({ path, message }) => `${path} ${message}`).join('; ')}</Text>
          </li>
        ))}
      </ul>
    </div>
  )

/** The versions, each with what it changed against the one in force. */
const Versions = ({
  of,
  now,
  open,
}: {
  of: readonly Version[]
  now: Definition
  open: (definition: unknown) => void
}) => (
  <details>
    <summary>Versions</summary>
    {of.map((one) => (
      <details key={one.version}>
        <summary>
          {one.version} <Badge tone={TONES[one.state]}>{one.state}</Badge> <Time at={one.createdAt} />
        </summary>
        {one.report?.reason && (
          <p>
            <Text>{one.report.reason}</Text>
          </p>
        )}
        <JsonDiff before={one.definition} after={now.definition} same="It is the same as the one in force." />
        <button type="button" class="small" disabled={!one.definition} onClick={() => open(one.definition)}>
          Edit this version
        </button>
      </details>
    ))}
  </details>
)
